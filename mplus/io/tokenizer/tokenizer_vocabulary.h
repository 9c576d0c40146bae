// The bytes of every token, and tokens by their bytes. Immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer/tokenizer_spec.h"

namespace mplus::io {

class Vocabulary {
 public:
  explicit Vocabulary(const TokenizerSpec& spec);

  std::int64_t size() const { return static_cast<std::int64_t>(kinds_.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }
  std::string_view bytes(TokenId id) const;  // empty for ids that name no token
  bool is_special(TokenId id) const { return contains(id) && kind(id) == TokenKind::special; }

  // The token with these bytes, -1 if there is none. Added tokens are not found: they are matched elsewhere,
  // and special ones must not arise from plain text.
  TokenId find(std::string_view bytes) const;

 private:
  enum class TokenKind : std::uint8_t { model, added, special };
  TokenKind kind(TokenId id) const { return kinds_[static_cast<std::size_t>(id)]; }
  std::size_t slot(std::string_view bytes) const;

  std::string bytes_;                // of all tokens, one after the other
  std::vector<std::uint32_t> ends_;  // token id stops here
  std::vector<TokenKind> kinds_;
  std::vector<TokenId> slots_;  // open addressing, at most half full; -1: free
};

}  // namespace mplus::io
