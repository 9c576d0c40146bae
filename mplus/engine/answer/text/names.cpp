#include "mplus/engine/answer/text/names.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace mplus::engine {
namespace {

struct Letter {
  utf8proc_int32_t code = 0;
  std::size_t begin = 0, end = 0;  // bytes
};

// The character at `at`, and where the next one begins; code −1 where it is none.
Letter letter_at(std::string_view text, std::size_t at) {
  utf8proc_int32_t c = -1;
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                     static_cast<utf8proc_ssize_t>(text.size() - at), &c);
  return {size > 0 ? c : -1, at, at + (size > 0 ? static_cast<std::size_t>(size) : 1)};
}

bool is_of_word(utf8proc_int32_t c) {
  if (c < 0) return false;
  const auto category = utf8proc_category(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

bool is_capital(utf8proc_int32_t c) {
  const auto category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LT;
}

bool is_apostrophe(utf8proc_int32_t c) { return c == '\'' || c == 0x2019; }

// Small letters without their accents.
void add_folded(std::string& form, utf8proc_int32_t c) {
  utf8proc_int32_t parts[8];
  int last_class = 0;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT |
                                                      UTF8PROC_CASEFOLD | UTF8PROC_STRIPMARK);
  const auto n = utf8proc_decompose_char(c, parts, 8, options, &last_class);
  for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(n, 8); ++i) {
    utf8proc_uint8_t bytes[4];
    const auto size = utf8proc_encode_char(parts[i], bytes);
    form.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
}

bool ends_sentence(std::string_view gap) {
  if (gap.find('\n') != gap.npos || gap.find("。") != gap.npos) return true;
  return gap.size() > 1 && gap.find_first_of(".!?") != gap.npos;  // alone: 3.5
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<TextWord> run() {
    for (std::size_t at = 0; at < text_.size();) {
      const Letter letter = letter_at(text_, at);
      at = letter.end;
      if (is_of_word(letter.code)) {
        add(letter);
      } else if (!word_ || !joins(letter)) {
        end();
        gap_ += text_.substr(letter.begin, letter.end - letter.begin);
      }
    }
    end();
    return std::move(words_);
  }

 private:
  void add(const Letter& letter) {
    if (!word_) {
      const bool beside = gap_ == " " || gap_ == "-" || gap_ == ". ";
      // A dot ends a sentence unless an initial stands before it.
      const bool initial = !words_.empty() && words_.back().capital && words_.back().form.size() == 1;
      word_.emplace();
      word_->capital = is_capital(letter.code);
      word_->begins = words_.empty() || (ends_sentence(gap_) && !(initial && gap_ == ". "));
      word_->goes_on = !word_->begins && beside && !possessive_;
      begin_ = letter.begin;
    }
    if (utf8proc_category(letter.code) == UTF8PROC_CATEGORY_ND) word_->digit = word_->capital = true;
    add_folded(word_->form, letter.code);
    end_ = letter.end;
  }

  // An apostrophe inside a word: O'Brien, Julia's; not l'Espagne, where a name begins behind it.
  bool joins(const Letter& letter) const {
    if (!is_apostrophe(letter.code) || letter.end >= text_.size()) return false;
    const Letter next = letter_at(text_, letter.end);
    return is_of_word(next.code) && (word_->capital || !is_capital(next.code));
  }

  void end() {
    if (!word_) return;
    std::string_view own = text_.substr(begin_, end_ - begin_);
    possessive_ = false;
    for (const std::string_view mark : {"'s", "’s"})
      if (own.size() > mark.size() && own.ends_with(mark)) {
        possessive_ = true;
        word_->form.pop_back();
        own.remove_suffix(mark.size());
      }
    word_->own = own;
    word_->at = begin_;
    word_->end = end_;
    words_.push_back(*std::exchange(word_, std::nullopt));
    gap_.clear();
  }

  std::string_view text_;
  std::vector<TextWord> words_;
  std::optional<TextWord> word_;
  std::string gap_;  // since the word before
  std::size_t begin_ = 0, end_ = 0;
  bool possessive_ = false;  // the word before
};

std::vector<utf8proc_int32_t> letters_of(std::string_view form) {
  std::vector<utf8proc_int32_t> letters;
  for (std::size_t at = 0; at < form.size();) {
    const Letter letter = letter_at(form, at);
    letters.push_back(letter.code);
    at = letter.end;
  }
  return letters;
}

using Letters = std::vector<utf8proc_int32_t>;

std::size_t edits(const Letters& a, const Letters& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t best = std::min({row[j] + 1, row[j + 1] + 1, before + (a[i] == b[j] ? 0 : 1)});
      before = std::exchange(row[j + 1], best);
    }
  }
  return row.back();
}

bool has_word(std::span<const TextWord> words, std::string_view form) {
  return std::any_of(words.begin(), words.end(),
                     [&](const TextWord& word) { return is_same_word(word.form, form); });
}

// In capitals: "no" is not Nikodem Ottershaw.
bool has_initials(std::span<const TextWord> words, std::string_view form) {
  return std::any_of(words.begin(), words.end(), [&](const TextWord& word) {
    return word.form == form &&
           std::none_of(word.own.begin(), word.own.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  });
}

// "UN" for United Nations and the other way, KitchenAid for Kitchen Aid and the other way.
bool is_named_otherwise(const Name& name, std::span<const TextWord> words) {
  std::string initials, whole;
  for (const TextWord& word : name) {
    initials += word.form.substr(0, 1);
    whole += word.form;
  }
  if (name.size() > 1) return has_initials(words, initials) || has_word(words, whole);
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i + 1].goes_on && is_same_word(words[i].form + words[i + 1].form, whole)) return true;
  const bool letters = std::all_of(name[0].own.begin(), name[0].own.end(),
                                   [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
  if (!letters) return false;
  std::string capitals;
  for (const TextWord& word : words)
    if (word.capital) capitals += word.form.substr(0, 1);
  return capitals.find(whole) != std::string::npos;
}

}  // namespace

std::vector<TextWord> text_words(std::string_view text) { return Splitter(text).run(); }

std::vector<Name> names_of(std::span<const TextWord> words) {
  std::vector<Name> names;
  bool open = false;
  for (const TextWord& word : words) {
    if (word.capital && open && word.goes_on) {
      names.back().push_back(word);
    } else if (word.capital) {
      names.push_back({word});
    }
    open = word.capital;
  }
  return names;
}

bool says_little(std::string_view form) {
  constexpr std::array<std::string_view, 40> kLight = {
      "what", "which", "when", "where", "whom", "whose", "does",  "that", "this", "with",
      "from", "have",  "been", "were",  "they", "their", "there", "into", "than", "then",
      "some", "many",  "much", "the",   "and",  "was",   "did",   "how",  "who",  "for",
      "are",  "has",   "had",  "can",   "its",  "her",   "his",   "our",  "you",  "not"};
  return std::find(kLight.begin(), kLight.end(), form) != kLight.end();
}

bool is_same_word(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (std::any_of(a.begin(), a.end(), digit) || std::any_of(b.begin(), b.end(), digit)) return false;
  const Letters x = letters_of(a), y = letters_of(b);
  const std::size_t shorter = std::min(x.size(), y.size()), longer = std::max(x.size(), y.size());
  const auto alike = static_cast<std::size_t>(
      std::mismatch(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(shorter), y.begin()).first -
      x.begin());
  // An ending; scripts beside the Latin one have more of them.
  const bool latin = x.size() == a.size() && y.size() == b.size();
  const std::size_t stem = latin ? 4 : 3, most = !latin ? 3 : alike == 4 ? 1 : 2;
  if (alike >= stem && longer - alike <= most && shorter - alike <= 1) return true;
  const std::size_t slips = shorter >= 9 ? 2 : shorter >= 6 ? 1 : 0;
  return longer - shorter <= slips && edits(x, y) <= slips;
}

bool is_named(const Name& name, std::span<const TextWord> words) {
  bool part_in_other = false, part_alone = false;
  for (const Name& other : names_of(words)) {
    const auto shared = std::count_if(name.begin(), name.end(),
                                      [&](const TextWord& word) { return has_word(other, word.form); });
    if (shared == 0) continue;
    if (shared == std::ssize(name) || shared > 1) return true;  // of a long one, two words
    const bool more = std::any_of(other.begin(), other.end(),
                                  [&](const TextWord& word) { return !has_word(name, word.form); });
    (more ? part_in_other : part_alone) = true;
  }
  if (part_alone) return true;
  for (const TextWord& word : name)
    for (const TextWord& small : words)
      if (!small.capital && is_same_word(small.form, word.form)) return true;
  return !part_in_other && is_named_otherwise(name, words);
}

}  // namespace mplus::engine
