#include <gtest/gtest.h>

#include "mplus/io/pretokenizer/unicode.h"
#include "mplus/io/text/names.h"
#include "mplus/io/tokenizer/bpe_alphabet.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::io {
namespace {

using test::TinyTokenizer;

// Streams ids and checks the laws: every piece is valid UTF-8, and together they are the whole text decoded
// at once.
void expect_stream(const Tokenizer& t, const std::vector<TokenId>& ids) {
  StreamDecoder stream(t);
  std::string all;
  for (const TokenId id : ids) {
    const std::string piece = stream.push(id);
    EXPECT_TRUE(valid_utf8(piece));
    all += piece;
  }
  all += stream.finish();
  EXPECT_EQ(all, to_valid_utf8(t.decode(ids)));
  EXPECT_EQ(stream.finish(), "");
}

TEST(StreamDecoder, EverySplitOfEveryLengthOfCharacter) {
  const std::string text = "aé€🦙b";  // 1, 2, 3, 4 bytes
  TinyTokenizer tiny;                      // a token for each byte, and one for each start of the text
  tiny.merges.clear();
  std::string start = spelled_byte(static_cast<std::uint8_t>(text[0]));
  for (std::size_t i = 1; i < text.size(); ++i) {
    tiny.merges.emplace_back(start, spelled_byte(static_cast<std::uint8_t>(text[i])));
    start += tiny.merges.back().second;
  }
  const Tokenizer t = tiny.load();
  for (std::size_t i = 1; i <= text.size(); ++i) {
    std::vector<TokenId> ids{i == 1 ? text[0] : static_cast<TokenId>(254 + i)};
    for (const char byte : text.substr(i)) ids.push_back(static_cast<std::uint8_t>(byte));
    ASSERT_EQ(t.decode(ids), text);
    expect_stream(t, ids);
  }
}

TEST(StreamDecoder, HoldsBackOnlyWhatMayBecomeACharacter) {
  StreamDecoder stream(TinyTokenizer{}.load());
  EXPECT_EQ(stream.push('x'), "x");
  EXPECT_EQ(stream.push(0xe2), "");
  EXPECT_EQ(stream.push(0x82), "");
  EXPECT_EQ(stream.push(0xac), "€");
  EXPECT_EQ(stream.push(0xf0), "");
  EXPECT_EQ(stream.push(0x9f), "");
  EXPECT_EQ(stream.push('y'), "\ufffdy") << "one start of a character, one replacement";
  EXPECT_EQ(stream.push(0xff), "\ufffd") << "can never become valid";
  EXPECT_EQ(stream.push(0xed), "");
  EXPECT_EQ(stream.push(0xa0), "\ufffd\ufffd") << "a surrogate is none";
  EXPECT_EQ(stream.push(0xc3), "");
  EXPECT_EQ(stream.push(300), "") << "special tokens are skipped";
  EXPECT_EQ(stream.push(0xa9), "é");
  EXPECT_EQ(stream.push(0xc3), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
  EXPECT_EQ(stream.push('z'), "z");
}

TEST(StreamDecoder, RandomBytesAndText) {
  const Tokenizer t = TinyTokenizer{}.load();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<TokenId> ids;
    for (std::uint64_t i = 0; i < 100; ++i) {  // bytes that start and continue characters come often
      const std::uint64_t bits = test::random_number(seed, i);
      ids.push_back(static_cast<TokenId>(bits & 1 ? 0x80 | (bits >> 8 & 0x7f) : bits >> 8 & 0xff));
    }
    expect_stream(t, ids);
  }
  expect_stream(test::smollm2(), test::smollm2().encode(test::mixed_text(50'000, 3)));
}

}  // namespace
}  // namespace mplus::io
