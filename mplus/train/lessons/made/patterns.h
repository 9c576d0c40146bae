// Text drawn by chance from word lists.
//
// A list is a line "name: item, item, …" (tables/names.txt, tables/words.txt). An item that stands there
// twice is drawn twice as often. Items may have gaps:
//   <name>      an item of that list            <a name>   the same behind "a" or "an"
//   <Name>      the same with capital letters
//   <3..40>     a number                        <@@-###>   capital letters for @, digits for #
//   <word>      an invented name: Quorbel       <syllables> the same in lower case
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/train/lessons/made/random.h"
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

struct PatternPiece {
  enum class What { text, list, number, characters, word, syllables };
  What what = What::text;
  bool with_article = false, capital = false;
  std::string_view text{};  // as it is, or the form of characters
  std::size_t list = 0;
  std::int64_t least = 0, most = 0;
};
using Pattern = std::vector<PatternPiece>;

using Choice = std::vector<Pattern>;  // one of them is drawn, each as likely as another

// Parts of invented words (tables/syllables.txt).
struct Syllables {
  using Parts = std::vector<std::string_view>;
  explicit Syllables(const Tables& tables);
  Parts double_onsets, onsets, vowels, double_vowels, stops, simple_onsets, endings;
  Parts taken;  // words that are not invented
};

// Throws Error where a table is not written as it should be.
class Lexicon {
 public:
  explicit Lexicon(const Tables& tables);
  static const Lexicon& instance();  // of the embedded tables, read once

  // "item, item, …"; `line` is where they stand.
  Choice parse(std::string_view items, const TableLine& line) const;
  double count(const Choice& choice) const;  // how many texts it can give, about
  const Choice& list(std::size_t index) const { return lists_[index]; }
  std::size_t size() const { return lists_.size(); }
  const Syllables& syllables() const { return syllables_; }

 private:
  PatternPiece parse_gap(std::string_view gap, const TableLine& line) const;

  Syllables syllables_;
  std::vector<std::string_view> names_;
  std::vector<Choice> lists_;
};

// A narrow choice of words: of every list, and of the parts of invented words, only `width` neighbours are
// used, which ones is a function of the seed. Width 0: all of them.
struct Vocabulary {
  std::uint64_t seed = 0;
  std::uint32_t width = 0;
};

// Draws from choices. Now and then it repeats what it drew last from a list, so that texts share words.
class TextDraw {
 public:
  explicit TextDraw(std::uint64_t seed, const Vocabulary& vocabulary = {})
      : random_(seed), vocabulary_(vocabulary), last_(Lexicon::instance().size()) {}

  Random& random() { return random_; }
  void draw(const Choice& choice, std::string& out);

 private:
  void draw(const Pattern& pattern, std::string& out);
  void draw(const PatternPiece& piece, std::string& out);
  void draw_characters(std::string_view form, std::string& out);
  void draw_word(std::string& out);
  void draw_any_word(std::string& out);
  std::uint32_t one_of(std::size_t items, std::uint64_t list);
  void append_one_of(const Syllables::Parts& parts, std::string& out);

  Random random_;
  Vocabulary vocabulary_;
  std::vector<std::uint32_t> last_;  // by list: 1 + the item drawn last
};

std::string_view article(std::string_view word);  // "a" or "an"

}  // namespace mplus::train::made
