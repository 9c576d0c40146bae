#include "mplus/engine/answer/text/quoting.h"

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
                 std::string_view no_answer, double most)
    : tokenizer_(tokenizer), text_(text), no_answer_(small(no_answer)), ends_(std::move(ends)), most_(most) {
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (is_of_word(text_[i]) && (i == 0 || !is_of_word(text_[i - 1]))) places_.push_back(i);
}

// As it goes behind what was said.
std::string Quoting::piece_of(io::TokenId id) const {
  std::string piece(tokenizer_.token_bytes(id));
  if (said_.empty() && piece.starts_with(' ')) piece.erase(0, 1);
  return piece;
}

bool Quoting::denies(std::string_view piece) const {
  return !piece.empty() && no_answer_.starts_with(small(said_)) &&
         std::string_view(no_answer_).substr(said_.size()).starts_with(small(piece));
}

// Words may begin with a capital or not.
bool Quoting::stands_at(std::size_t at, std::string_view piece) const {
  if (piece.size() > text_.size() - at) return false;
  for (std::size_t i = 0; i < piece.size(); ++i, ++at) {
    const bool begins = at == 0 || !is_of_word(text_[at - 1]);
    if (text_[at] != piece[i] && !(begins && lower(text_[at]) == lower(piece[i]))) return false;
  }
  return true;
}

bool Quoting::goes_on(std::string_view piece) const {
  return !piece.empty() &&
         std::any_of(places_.begin(), places_.end(), [&](std::size_t at) { return stands_at(at, piece); });
}

bool Quoting::is_whole() const {
  return !said_.empty() && std::any_of(places_.begin(), places_.end(), [&](std::size_t at) {
    return at == text_.size() || !is_of_word(text_[at]) || !is_of_word(text_[at - 1]);
  });
}

std::optional<io::TokenId> Quoting::next(std::span<const float> logits) {
  const auto first = std::max_element(logits.begin(), logits.end());
  const float likeliest = *first;
  const std::string own = piece_of(static_cast<io::TokenId>(first - logits.begin()));
  if (denies(own) && !goes_on(own)) return std::nullopt;
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
    if (const auto id = static_cast<io::TokenId>(i); better(id) && goes_on(piece_of(id))) best = id;
  if (!best) return std::nullopt;
  if (whole) given_ += likeliest - logits[static_cast<std::size_t>(*best)];
  if (std::find(ends_.begin(), ends_.end(), *best) != ends_.end()) return best;
  const std::string piece = piece_of(*best);
  std::erase_if(places_, [&](std::size_t at) { return !stands_at(at, piece); });
  for (std::size_t& at : places_) at += piece.size();
  said_ += piece;
  return best;
}

}  // namespace mplus::engine
