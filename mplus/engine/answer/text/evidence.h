// Whether a passage can be where an answer comes from. A question that names somebody or something is not
// answered by a passage that speaks of others alone: the length of another bridge, the car of another Weber.
// Where an answer stands in such a passage it was taken from there, and is none. Nor is one that stands only
// in sentences that say of others what was asked (docs/evidence.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mplus/engine/answer/text/names.h"

namespace mplus::engine {

struct Passage {
  std::string text;    // what was read
  std::string before;  // in the same sources, and what those are called: of whom it goes on to speak
};

class Evidence {
 public:
  // Of a message, the sentences that ask count.
  explicit Evidence(std::string_view question);

  bool has_names() const { return !names_.empty(); }  // otherwise nothing speaks against any answer
  // Against this answer: it stands in the passage, and there it is of others than the question names.
  bool speaks_against(std::string_view answer, const Passage& passage) const;
  // For this passage: one of its sentences speaks of what the question names and says at least half of what
  // is asked of it; how many of the words. Who asks in other words than it was told in has no such passage:
  // 0.
  std::int64_t speaks_for(std::string_view passage) const;
  // What the passage says of the question's name, up to this answer, a newer text says word for word with
  // something else in the answer's place.
  bool is_told_anew(std::string_view answer, std::string_view passage, std::string_view newer) const;
  std::string names() const;  // of the question, for people
  const std::vector<Name>& asked_names() const { return names_; }
  const std::vector<std::string>& asked_words() const { return asked_; }

 private:
  using Words = std::span<const TextWord>;
  bool is_spoken_of(Words words) const;
  std::int64_t says_what_is_asked(Words sentence) const;  // so many words, at least half of them; else 0
  bool is_of_others(Words passage, std::size_t begin, std::size_t end) const;  // the answer there

  std::vector<Name> names_;
  std::vector<std::string> asked_;  // other words of weight, that say what is asked of them
};

}  // namespace mplus::engine
