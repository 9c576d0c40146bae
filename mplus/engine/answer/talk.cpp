#include "mplus/engine/answer/talk.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/engine/answer/text/names.h"

namespace mplus::engine {
namespace {

constexpr double kMostOf = 0.75;          // of the words
constexpr std::size_t kFewestWords = 2;   // one alone says too little of what a text is about
constexpr std::size_t kShortestWord = 3;  // letters

}  // namespace

double talk_score(std::span<const float> hidden, std::span<const float> weights) {
  MPLUS_CHECK(weights.size() == hidden.size() + 1, "a probe of another width");
  double score = static_cast<double>(weights.back());
  for (std::size_t i = 0; i < hidden.size(); ++i)
    score += static_cast<double>(hidden[i]) * static_cast<double>(weights[i]);
  return score;
}

Talk talk_by(double score, const io::TalkProbe& probe) {
  if (score >= probe.sure) return Talk::yes;
  return score >= probe.unsure ? Talk::maybe : Talk::no;
}

TalkWords::TalkWords(std::string_view message) {
  for (TextWord& word : text_words(message))
    if (word.form.size() >= kShortestWord && !says_little(word.form) &&
        std::find(words_.begin(), words_.end(), word.form) == words_.end())
      words_.push_back(std::move(word.form));
}

bool TalkWords::are_in(std::string_view text) const {
  if (words_.size() < kFewestWords) return false;
  const std::vector<TextWord> said = text_words(text);
  const auto found = std::count_if(words_.begin(), words_.end(), [&](const std::string& form) {
    return std::any_of(said.begin(), said.end(),
                       [&](const TextWord& word) { return is_same_word(word.form, form); });
  });
  return static_cast<double>(found) >= kMostOf * static_cast<double>(words_.size());
}

bool stands_in(std::string_view answer, std::string_view text) {
  const std::vector<TextWord> words = text_words(text);
  std::vector<TextWord> said = text_words(answer);
  if (!said.empty() && (said[0].form == "the" || said[0].form == "a" || said[0].form == "an"))
    said.erase(said.begin());
  if (said.empty()) return false;
  return std::search(words.begin(), words.end(), said.begin(), said.end(),
                     [](const TextWord& a, const TextWord& b) { return a.form == b.form; }) != words.end();
}

}  // namespace mplus::engine
