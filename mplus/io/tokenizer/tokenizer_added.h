// Finds a tokenizer's added tokens in text: leftmost first, of several at one place the longest, as
// `tokenizers`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer/tokenizer_spec.h"

namespace mplus::io {

class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // A stretch of the text: a token, or (id empty) what stands between tokens.
  struct Stretch {
    std::size_t begin, end;
    std::optional<TokenId> id;
  };
  // The next part from text[from] on. Special tokens are passed over as text unless `specials`.
  // Call with from < text.size(); the parts cover the text.
  Stretch next(std::string_view text, std::size_t from, bool specials) const;

  bool any(bool specials) const { return specials ? !tokens_.empty() : has_plain_; }
  std::optional<TokenId> find_special(std::string_view content) const;

 private:
  const AddedToken* match(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;                                            // by first byte, longest first
  std::array<std::pair<std::uint32_t, std::uint32_t>, 256> starting_with_{};  // ranges of tokens_
  bool has_plain_ = false;                                                    // any that is not special
};

}  // namespace mplus::io
