#include "mplus/io/tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "mplus/core/error.h"

namespace mplus::io {
namespace {

constexpr std::uint32_t kNoRank = UINT32_MAX;
constexpr std::uint64_t kEmpty = UINT64_MAX;  // no pair: ids are not negative
constexpr std::size_t kShort = 48;            // up to here looking at every pair beats a heap

std::uint64_t pair_key(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

std::uint64_t spread(std::uint64_t key) {
  key *= 0x9e3779b97f4a7c15u;
  return key ^ key >> 32;
}

}  // namespace

Bpe::Bpe(const std::array<TokenId, 256>& byte_ids, std::span<const Merge> merges) : byte_ids_(byte_ids) {
  MPLUS_CHECK(merges.size() < kNoRank, "{} merges", merges.size());
  const std::size_t capacity = std::bit_ceil(merges.size() + merges.size() / 2 + 2);
  pairs_.assign(capacity, Pair{kEmpty, kNoRank, -1});
  mask_ = capacity - 1;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::uint64_t key = pair_key(merges[i].left, merges[i].right);
    std::uint64_t slot = spread(key) & mask_;
    while (pairs_[slot].key != kEmpty && pairs_[slot].key != key) slot = (slot + 1) & mask_;
    pairs_[slot] = {key, static_cast<std::uint32_t>(i), merges[i].result};
  }
}

// The pair's merge, or an empty slot (rank kNoRank) if it has none.
const Bpe::Pair& Bpe::find(TokenId left, TokenId right) const {
  const std::uint64_t key = pair_key(left, right);
  std::uint64_t slot = spread(key) & mask_;
  while (pairs_[slot].key != key && pairs_[slot].key != kEmpty) slot = (slot + 1) & mask_;
  return pairs_[slot];
}

std::span<const BpeToken> Bpe::encode(std::string_view piece, BpeScratch& scratch) const {
  MPLUS_CHECK(piece.size() <= INT32_MAX, "a piece of {} bytes", piece.size());
  scratch.tokens.clear();
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const TokenId id = byte_ids_[static_cast<std::uint8_t>(piece[i])];
    if (id >= 0) scratch.tokens.push_back({id, static_cast<std::uint32_t>(i + 1)});
  }
  if (scratch.tokens.size() <= kShort) {
    merge_short(scratch.tokens);
  } else {
    merge_long(scratch);
  }
  return scratch.tokens;
}

void Bpe::merge_short(std::vector<BpeToken>& tokens) const {
  std::array<std::uint32_t, kShort> ranks;  // ranks[i]: of the pair (i, i + 1)
  std::size_t n = tokens.size();
  for (std::size_t i = 0; i + 1 < n; ++i) ranks[i] = rank(tokens[i].id, tokens[i + 1].id);
  while (n > 1) {
    const std::size_t i =
        static_cast<std::size_t>(std::min_element(ranks.begin(), ranks.begin() + n - 1) - ranks.begin());
    if (ranks[i] == kNoRank) break;
    tokens[i] = {find(tokens[i].id, tokens[i + 1].id).result, tokens[i + 1].end};
    std::copy(tokens.begin() + static_cast<std::ptrdiff_t>(i) + 2,
              tokens.begin() + static_cast<std::ptrdiff_t>(n),
              tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    std::copy(ranks.begin() + i + 1, ranks.begin() + n - 1, ranks.begin() + i);
    --n;
    if (i > 0) ranks[i - 1] = rank(tokens[i - 1].id, tokens[i].id);
    if (i + 1 < n) ranks[i] = rank(tokens[i].id, tokens[i + 1].id);
  }
  tokens.resize(n);
}

// Puts the pair that starts at link `left` on the heap, if it has a merge. Rank above, place below: the
// smallest number is the pair to join next.
void Bpe::push_pair(BpeScratch& scratch, std::int32_t left) const {
  const std::int32_t right = scratch.links[static_cast<std::size_t>(left)].next;
  if (right < 0) return;
  const std::uint32_t r = rank(scratch.links[static_cast<std::size_t>(left)].id,
                               scratch.links[static_cast<std::size_t>(right)].id);
  if (r == kNoRank) return;
  scratch.heap.push_back(std::uint64_t{r} << 32 | static_cast<std::uint32_t>(left));
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>{});
}

void Bpe::merge_long(BpeScratch& scratch) const {
  auto& [tokens, links, heap] = scratch;
  const auto n = static_cast<std::int32_t>(tokens.size());
  links.clear();
  heap.clear();
  for (std::int32_t i = 0; i < n; ++i) {
    const BpeToken& token = tokens[static_cast<std::size_t>(i)];
    links.push_back({token.id, token.end, i - 1, i + 1 < n ? i + 1 : -1});
  }
  for (std::int32_t i = 0; i < n; ++i) push_pair(scratch, i);
  while (!heap.empty()) {
    const std::uint64_t top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    heap.pop_back();
    const auto place = static_cast<std::int32_t>(top & UINT32_MAX);
    auto& left = links[static_cast<std::size_t>(place)];
    if (left.id < 0 || left.next < 0) continue;  // joined meanwhile
    auto& right = links[static_cast<std::size_t>(left.next)];
    const Pair& pair = find(left.id, right.id);
    if (pair.rank != top >> 32) continue;  // another pair stands here now
    left.id = pair.result;
    left.end = right.end;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) links[static_cast<std::size_t>(left.next)].previous = place;
    if (left.previous >= 0) push_pair(scratch, left.previous);
    push_pair(scratch, place);
  }
  tokens.clear();
  for (std::int32_t i = 0; i >= 0; i = links[static_cast<std::size_t>(i)].next)
    tokens.push_back({links[static_cast<std::size_t>(i)].id, links[static_cast<std::size_t>(i)].end});
}

}  // namespace mplus::io
