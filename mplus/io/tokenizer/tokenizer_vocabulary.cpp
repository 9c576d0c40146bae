#include "mplus/io/tokenizer/tokenizer_vocabulary.h"

#include <xxhash.h>

#include <bit>

#include "mplus/core/error.h"
#include "mplus/io/tokenizer/bpe_alphabet.h"

namespace mplus::io {

Vocabulary::Vocabulary(const TokenizerSpec& spec) : kinds_(spec.tokens.size(), TokenKind::model) {
  for (const AddedToken& token : spec.added)
    kinds_[static_cast<std::size_t>(token.id)] = token.special ? TokenKind::special : TokenKind::added;
  std::size_t total = 0;
  for (const std::string& token : spec.tokens) total += token.size();
  if (total > UINT32_MAX)
    fail(ErrorCode::unsupported, "{}: vocabulary: expected under 4 GiB of text, found {} bytes", spec.name,
         total);
  bytes_.reserve(total);
  ends_.reserve(spec.tokens.size());
  slots_.assign(std::bit_ceil(2 * spec.tokens.size() + 2), -1);
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    // Characters outside the alphabet stand for themselves, and text never gives such a token.
    const auto spelled = kinds_[id] == TokenKind::model ? spelled_bytes(spec.tokens[id]) : std::nullopt;
    bytes_ += spelled ? *spelled : spec.tokens[id];
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    if (spelled && !spelled->empty()) slots_[slot(*spelled)] = static_cast<TokenId>(id);
  }
}

std::string_view Vocabulary::bytes(TokenId id) const {
  if (!contains(id)) return {};
  const auto at = static_cast<std::size_t>(id);
  const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
  return std::string_view(bytes_).substr(begin, ends_[at] - begin);
}

std::size_t Vocabulary::slot(std::string_view bytes) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = XXH3_64bits(bytes.data(), bytes.size()) & mask;
  while (slots_[at] >= 0 && this->bytes(slots_[at]) != bytes) at = (at + 1) & mask;
  return at;
}

TokenId Vocabulary::find(std::string_view bytes) const { return slots_[slot(bytes)]; }

}  // namespace mplus::io
