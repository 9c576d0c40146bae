// Byte-pair encoding of one piece of text: start from single bytes, and join, again and again, the pair that
// was learnt first; of equal ones the leftmost. Immutable after construction; each thread brings its own
// BpeScratch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::io {

struct Merge {
  TokenId left, right, result;
};

// One token of a piece; [previous end, end) are its bytes.
struct BpeToken {
  TokenId id;
  std::uint32_t end;
};

struct BpeScratch {
  struct Link {  // a symbol of a long piece, in a list
    TokenId id;
    std::uint32_t end;
    std::int32_t previous, next;
  };
  std::vector<BpeToken> tokens;
  std::vector<Link> links;
  std::vector<std::uint64_t> heap;
};

class Bpe {
 public:
  // byte_ids[b] is the token of byte b, -1 if the vocabulary has none: such bytes leave the text, as in
  // `tokenizers`. The place of a merge is its rank; of a pair that comes twice the later place counts.
  Bpe(const std::array<TokenId, 256>& byte_ids, std::span<const Merge> merges);

  // Pieces of any length; time n log n. The result stays in scratch until the next call.
  std::span<const BpeToken> encode(std::string_view piece, BpeScratch& scratch) const;

 private:
  struct Pair {
    std::uint64_t key;  // left, right
    std::uint32_t rank;
    TokenId result;
  };
  const Pair& find(TokenId left, TokenId right) const;
  std::uint32_t rank(TokenId left, TokenId right) const { return find(left, right).rank; }
  void merge_short(std::vector<BpeToken>& tokens) const;
  void merge_long(BpeScratch& scratch) const;
  void push_pair(BpeScratch& scratch, std::int32_t left) const;

  std::array<TokenId, 256> byte_ids_;
  std::vector<Pair> pairs_;  // open addressing; a power of two, at most two thirds full
  std::uint64_t mask_ = 0;
};

}  // namespace mplus::io
