// Names in a text, as far as its letters show them: words that begin with a capital, neighbours together
// ("Julia Weber", "the Tagar bridge"). Scripts without capitals have none.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::engine {

struct TextWord {
  std::string form;             // small letters without accents; without the 's of a possessive
  std::string own;              // as it stands in the text, likewise
  std::size_t at = 0, end = 0;  // bytes of the text, with the 's
  bool capital = false;         // it begins with a capital letter, or holds a digit
  bool digit = false;           // it holds one
  bool begins = false;          // a sentence
  bool possessive() const { return end - at > own.size(); }
  bool goes_on =
      false;  // from the word before it, with nothing but a space, a hyphen or an initial's dot between
};

// Any bytes are a text; what is not UTF-8 separates words.
std::vector<TextWord> text_words(std::string_view text);

using Name = std::vector<TextWord>;  // one word or more
std::vector<Name> names_of(std::span<const TextWord> words);

// By its form: "what", "does" and the like.
bool says_little(std::string_view form);

// The same word but for an ending or, in a long one, a slip of the pen. Numbers are the same or not.
bool is_same_word(std::string_view a, std::string_view b);

// Whether a text speaks of a name: by all of it, by initials, written in one, or by a part of it that stands
// alone ("Weber" for "Julia Weber", but not "Anna Weber").
bool is_named(const Name& name, std::span<const TextWord> words);

}  // namespace mplus::engine
