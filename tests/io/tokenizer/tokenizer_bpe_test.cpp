#include <gtest/gtest.h>

#include <numeric>

#include "mplus/io/tokenizer/bpe.h"
#include "mplus/io/tokenizer/bpe_alphabet.h"

#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::io {
namespace {

std::array<TokenId, 256> identity() {
  std::array<TokenId, 256> ids{};
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// The definition, word for word: of all neighbouring pairs join the one of lowest rank, the leftmost of
// several.
std::vector<TokenId> plain_bpe(std::string_view text, std::span<const Merge> merges) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<std::uint8_t>(c));
  for (;;) {
    std::size_t best_rank = merges.size(), best_place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      for (std::size_t rank = 0; rank < best_rank; ++rank)
        if (merges[rank].left == ids[i] && merges[rank].right == ids[i + 1]) {
          best_rank = rank;
          best_place = i;
        }
    if (best_rank == merges.size()) return ids;
    ids[best_place] = merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  }
}

std::vector<TokenId> encode(const Bpe& bpe, std::string_view text) {
  BpeScratch scratch;
  std::vector<TokenId> ids;
  std::uint32_t end = 0;
  for (const BpeToken& token : bpe.encode(text, scratch)) {
    EXPECT_GT(token.end, end);
    end = token.end;
    ids.push_back(token.id);
  }
  EXPECT_EQ(end, text.size());
  return ids;
}

// Random merges over two letters, in random order: chains, ties and rivals for one place come up all the
// time.
TEST(Bpe, IsItsDefinition) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto bits = [&](std::uint64_t index) { return test::random_number(seed, index); };
    std::vector<TokenId> tokens{'a', 'b'};
    std::vector<Merge> merges;
    for (TokenId id = 256; id < 286; ++id) {
      const auto n = tokens.size();
      merges.push_back({tokens[bits(static_cast<std::uint64_t>(id)) % n],
                        tokens[bits(static_cast<std::uint64_t>(id) + 1000) % n], id});
      const auto same = [&](const Merge& m) {
        return m.left == merges.back().left && m.right == merges.back().right;
      };
      if (std::count_if(merges.begin(), merges.end(), same) > 1) merges.pop_back();
      else tokens.push_back(id);
    }
    for (std::size_t i = merges.size(); i > 1; --i) std::swap(merges[i - 1], merges[bits(2000 + i) % i]);
    const Bpe bpe(identity(), merges);
    for (const std::size_t length : {0u, 1u, 2u, 7u, 47u, 48u, 49u, 50u, 300u}) {
      std::string text;
      for (std::size_t i = 0; i < length; ++i) text += bits(5000 + length * 1000 + i) & 1 ? 'a' : 'b';
      ASSERT_EQ(encode(bpe, text), plain_bpe(text, merges)) << text;
    }
  }
}

TEST(Bpe, TheLaterOfTwoEqualMergesCounts) {
  const std::vector<Merge> merges{{'a', 'b', 256}, {'b', 'c', 257}, {'a', 'b', 256}};
  EXPECT_EQ(encode(Bpe(identity(), merges), "abc"), (std::vector<TokenId>{'a', 257}));
}

TEST(Bpe, BytesWithoutATokenLeaveTheText) {
  std::array<TokenId, 256> ids = identity();
  ids['x'] = -1;
  const std::vector<Merge> merges{{'a', 'b', 256}};
  BpeScratch scratch;
  const auto tokens = Bpe(ids, merges).encode("xaxxbx", scratch);
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].id, 256);
  EXPECT_EQ(tokens[0].end, 5u);
}

TEST(BpeAlphabet, IsAOneToOneMapOfBytes) {
  std::string all, spelled;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(char_to_byte(byte_to_char(b)), b);
    all += static_cast<char>(byte);
    spelled += spelled_byte(b);
  }
  EXPECT_EQ(spelled_bytes(spelled), all);
  EXPECT_EQ(spelled_byte(' '), "\u0120");
  EXPECT_EQ(spelled_byte('\n'), "\u010a");
  for (const char* none : {" ", "日", "\u0144", "\u00ad", "\xff"})
    EXPECT_EQ(spelled_bytes(none), std::nullopt);
}

}  // namespace
}  // namespace mplus::io
