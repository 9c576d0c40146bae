#include "mplus/io/tokenizer/tokenizer_spec.h"

#include <xxhash.h>

#include <bit>

#include "mplus/core/error.h"
#include "mplus/io/text/names.h"

namespace mplus::io {

std::int64_t largest_token_id(std::size_t count) { return 2 * static_cast<std::int64_t>(count) + 4096; }

TokenIndex::TokenIndex(std::span<const std::string> tokens, std::string_view name)
    : tokens_(tokens), name_(name) {
  slots_.assign(std::bit_ceil(2 * tokens.size() + 2), -1);
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    TokenId& at = slots_[slot(tokens[id])];
    if (at >= 0)
      fail(ErrorCode::corrupt, "{}: vocabulary: token {}: expected one id, found {} and {}", name,
           shown(tokens[id]), at, id);
    at = static_cast<TokenId>(id);
  }
}

// Where the token stands, or the free slot where it would.
std::size_t TokenIndex::slot(std::string_view token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = XXH3_64bits(token.data(), token.size()) & mask;
  while (slots_[at] >= 0 && tokens_[static_cast<std::size_t>(slots_[at])] != token) at = (at + 1) & mask;
  return at;
}

std::optional<TokenId> TokenIndex::find(std::string_view token) const {
  const TokenId id = slots_[slot(token)];
  return id < 0 ? std::nullopt : std::optional(id);
}

Merge TokenIndex::merge(std::string_view left, std::string_view right, std::size_t rank) const {
  const auto id_of = [&](std::string_view token) {
    const auto id = find(token);
    if (!id || token.empty())
      fail(ErrorCode::corrupt, "{}: merges[{}]: expected tokens of the vocabulary, found {}", name_, rank,
           shown(token));
    return *id;
  };
  const TokenId left_id = id_of(left);
  const TokenId right_id = id_of(right);
  return {left_id, right_id, id_of(std::string(left).append(right))};
}

Merge TokenIndex::merge(std::string_view left_and_right, std::size_t rank) const {
  const std::size_t space = left_and_right.find(' ');
  if (space == left_and_right.npos || left_and_right.find(' ', space + 1) != left_and_right.npos)
    fail(ErrorCode::corrupt, "{}: merges[{}]: expected two tokens with one space between them, found {}",
         name_, rank, shown(left_and_right));
  return merge(left_and_right.substr(0, space), left_and_right.substr(space + 1), rank);
}

}  // namespace mplus::io
