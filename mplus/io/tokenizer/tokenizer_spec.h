// What a tokenizer file says, whichever kind of file it was. Readers fill it, Tokenizer is built from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/pretokenizer/pretokenizer.h"
#include "mplus/io/tokenizer/bpe.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::io {

// A token found in text before anything else is cut.
struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = true;      // off unless special tokens are asked for
  bool normalized = false;  // looked for in the normalised text
  bool lstrip = false;      // takes the white space before it along
  bool rstrip = false;
};

struct TokenizerSpec {
  std::string name;                 // the file, for messages
  std::vector<std::string> tokens;  // by id, in the byte alphabet; empty: no such token
  std::vector<Merge> merges;        // by rank
  std::vector<AddedToken> added;    // their contents also stand in `tokens`
  std::vector<PreTokenizerStep> steps;
  bool nfc = false;
  bool ignore_merges = false;  // a piece that is a token becomes it, whatever the merges say
  std::optional<TokenId> bos, eos;
};

// Largest id a file with `count` tokens may use: gaps are allowed, allocating for absurd ids is not.
std::int64_t largest_token_id(std::size_t count);

// Tokens to ids. Looks at the strings it is given: they must outlive it and stay where they are.
class TokenIndex {
 public:
  // Throws corrupt if one token has two ids.
  TokenIndex(std::span<const std::string> tokens, std::string_view name);

  std::optional<TokenId> find(std::string_view token) const;
  // The merge of two tokens of the vocabulary; throws corrupt unless they and their concatenation are in it.
  Merge merge(std::string_view left, std::string_view right, std::size_t rank) const;
  Merge merge(std::string_view left_and_right, std::size_t rank) const;  // "left right"

 private:
  std::size_t slot(std::string_view token) const;

  std::span<const std::string> tokens_;
  std::string_view name_;
  std::vector<TokenId> slots_;  // open addressing, at most half full; -1: free
};

TokenizerSpec read_tokenizer_json(std::string_view text, std::string_view name);
TokenizerSpec read_tokenizer_gguf(const Gguf& file);
// The inverse of read_tokenizer_json(); bos and eos stand in a file beside it.
std::string write_tokenizer_json(const TokenizerSpec& spec);
// bos and eos as the files beside a tokenizer.json name them.
void read_special_ids(TokenizerSpec& spec, const std::filesystem::path& folder);

}  // namespace mplus::io
