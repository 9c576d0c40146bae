#include "mplus/io/tokenizer/tokenizer_added.h"

#include <algorithm>

#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::io {
namespace {

bool space_at(std::string_view text, std::size_t at, std::size_t& length) {
  const Utf8Step step = utf8_step(text, at);
  length = step.length;
  return step.validity == Utf8Step::Validity::valid && char_kinds()(step.code_point) == CharKind::space;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  std::size_t length = 0;
  while (at < text.size() && space_at(text, at, length)) at += length;
  return at;
}

// Where the white space that ends at text[end] starts, not before `from`.
std::size_t spaces_begin(std::string_view text, std::size_t from, std::size_t end) {
  while (end > from) {
    std::size_t at = end - 1;
    while (at > from && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
    std::size_t length = 0;
    if (!space_at(text.substr(0, end), at, length) || at + length != end) break;
    end = at;
  }
  return end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  const auto first_byte = [](const AddedToken& token) { return static_cast<std::uint8_t>(token.content[0]); };
  std::stable_sort(tokens_.begin(), tokens_.end(), [&](const AddedToken& a, const AddedToken& b) {
    if (first_byte(a) != first_byte(b)) return first_byte(a) < first_byte(b);
    return a.content.size() > b.content.size();
  });
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    auto& [begin, end] = starting_with_[first_byte(tokens_[i])];
    if (end == 0) begin = i;
    end = i + 1;
    has_plain_ |= !tokens_[i].special;
  }
}

const AddedToken* AddedTokens::match(std::string_view text, std::size_t at) const {
  const auto [begin, end] = starting_with_[static_cast<std::uint8_t>(text[at])];
  for (std::uint32_t i = begin; i < end; ++i)
    if (text.compare(at, tokens_[i].content.size(), tokens_[i].content) == 0) return &tokens_[i];
  return nullptr;
}

AddedTokens::Stretch AddedTokens::next(std::string_view text, std::size_t from, bool specials) const {
  for (std::size_t at = from; at < text.size();) {
    const AddedToken* token = match(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t end = at + token->content.size();
    if (token->special && !specials) {  // its whole text is plain: no other token starts within it
      at = end;
      continue;
    }
    const std::size_t begin = token->lstrip ? spaces_begin(text, from, at) : at;
    if (begin > from) return {from, begin, std::nullopt};
    if (token->rstrip) end = skip_spaces(text, end);
    return {from, end, token->id};
  }
  return {from, text.size(), std::nullopt};
}

std::optional<TokenId> AddedTokens::find_special(std::string_view content) const {
  for (const AddedToken& token : tokens_)
    if (token.special && token.content == content) return token.id;
  return std::nullopt;
}

}  // namespace mplus::io
