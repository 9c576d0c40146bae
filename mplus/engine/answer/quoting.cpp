#include "mplus/engine/answer/quoting.h"

#include <algorithm>
#include <limits>

#include "mplus/core/text.h"

namespace mplus::engine {
namespace {

// Bytes of words; every byte of another script is one.
bool is_of_word(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') ||
         (lower(c) >= 'a' && lower(c) <= 'z');
}

std::string small(std::string_view text) {
  std::string letters(text);
  std::transform(letters.begin(), letters.end(), letters.begin(), lower);
  return letters;
}

}  // namespace

Quoting::Quoting(const io::Tokenizer& tokenizer, std::string_view text, std::vector<io::TokenId> ends,
                 double most)
    : tokenizer_(tokenizer), text_(small(text)), ends_(std::move(ends)), most_(most) {
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (is_of_word(text_[i]) && (i == 0 || !is_of_word(text_[i - 1]))) places_.push_back(i);
}

bool Quoting::goes_on(std::string_view piece) const {
  if (said_.empty() && piece.starts_with(' ')) piece.remove_prefix(1);
  return !piece.empty() && std::any_of(places_.begin(), places_.end(), [&](std::size_t at) {
    return std::string_view(text_).substr(at).starts_with(piece);
  });
}

bool Quoting::is_whole() const {
  return !said_.empty() && std::any_of(places_.begin(), places_.end(), [&](std::size_t at) {
    return at == text_.size() || !is_of_word(text_[at]) || !is_of_word(text_[at - 1]);
  });
}

std::optional<io::TokenId> Quoting::next(std::span<const float> logits) {
  const float likeliest = *std::max_element(logits.begin(), logits.end());
  // A word that was begun is brought to its end.
  const bool whole = said_.empty() || is_whole();
  const double least = whole ? likeliest - (most_ - given_) : -std::numeric_limits<double>::infinity();
  std::optional<io::TokenId> best;
  const auto better = [&](io::TokenId id) {
    const float logit = logits[static_cast<std::size_t>(id)];
    return logit >= least && (!best || logit > logits[static_cast<std::size_t>(*best)]);
  };
  if (whole && !said_.empty())
    for (const io::TokenId id : ends_)
      if (better(id)) best = id;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (const auto id = static_cast<io::TokenId>(i); better(id) && goes_on(small(tokenizer_.token_bytes(id))))
      best = id;
  if (!best) return std::nullopt;
  if (whole) given_ += likeliest - logits[static_cast<std::size_t>(*best)];
  std::string piece = small(tokenizer_.token_bytes(*best));
  if (said_.empty() && piece.starts_with(' ')) piece.erase(0, 1);
  if (std::find(ends_.begin(), ends_.end(), *best) != ends_.end()) return best;
  std::erase_if(places_,
                [&](std::size_t at) { return !std::string_view(text_).substr(at).starts_with(piece); });
  for (std::size_t& at : places_) at += piece.size();
  said_ += piece;
  return best;
}

}  // namespace mplus::engine
