#include "mplus/engine/answer/text/evidence.h"

#include <algorithm>
#include <array>

#include "mplus/core/text.h"

namespace mplus::engine {
namespace {

// Sentences of a message, each with the mark that ends it.
std::vector<std::string_view> sentences(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t begin = 0;
  const auto end_at = [&](std::size_t end) {
    const std::string_view sentence = trim(text.substr(begin, end - begin));
    if (!sentence.empty()) found.push_back(sentence);
    begin = end;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool space_follows = i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n';
    const bool initial = text[i] == '.' && i > 0 && (i == 1 || text[i - 2] == ' ');
    const bool ends = (text[i] == '.' || text[i] == '!' || text[i] == '?') && space_follows && !initial;
    if (ends || text[i] == '\n') end_at(i + 1);
  }
  end_at(text.size());
  return found;
}

// By its mark; people leave that out, so in English by its first word as well.
bool asks(std::string_view sentence, const std::vector<TextWord>& words) {
  constexpr std::array<std::string_view, 9> kFirst = {"who",  "what", "which", "when", "where",
                                                      "whom", "how",  "whose", "name"};
  for (const std::string_view mark : {"?", "？", "؟"})
    if (sentence.ends_with(mark)) return true;
  return !words.empty() && std::find(kFirst.begin(), kFirst.end(), words[0].form) != kFirst.end();
}

// German writes every noun with a capital: there only neighbours make a name ("Julia Weber").
bool capitals_are_nouns(const std::vector<TextWord>& words) {
  constexpr std::array<std::string_view, 24> kGerman = {
      "wer", "wie", "was", "wo",  "wann", "wen", "wem", "welche", "welcher", "welches", "welchen", "welchem",
      "der", "die", "das", "dem", "den",  "des", "ist", "hat",    "von",     "und",     "heisst",  "wurde"};
  return std::count_if(words.begin(), words.end(), [&](const TextWord& word) {
           return std::find(kGerman.begin(), kGerman.end(), word.form) != kGerman.end();
         }) >= 2;
}

// Kinds of things (PC, ECG) and stressed words are written so.
bool is_in_capitals(const TextWord& word) {
  return std::all_of(word.own.begin(), word.own.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// What is asked of a name is in words like these; shorter ones and these say little.
bool has_weight(const TextWord& word) {
  return !word.capital && word.form.size() >= 3 && !says_little(word.form);
}

// Days and months have capitals in English; they say when, not of whom.
bool is_time(const TextWord& word) {
  constexpr std::array<std::string_view, 28> kTimes = {
      "monday",    "tuesday",  "wednesday", "thursday", "friday", "saturday", "sunday",
      "january",   "february", "march",     "april",    "june",   "july",     "august",
      "september", "october",  "november",  "december", "jan",    "feb",      "mar",
      "apr",       "aug",      "sep",       "sept",     "oct",    "nov",      "dec"};
  return std::find(kTimes.begin(), kTimes.end(), word.form) != kTimes.end();
}

// The first word of a sentence has its capital for that; numbers count things as often as they name them.
std::vector<Name> names_asked_for(const std::vector<TextWord>& sentence) {
  if (sentence.empty()) return {};
  const std::size_t fewest = capitals_are_nouns(sentence) ? 2 : 1;
  const std::vector<TextWord> words(sentence.begin() + 1, sentence.end());
  std::vector<Name> names = names_of(words);
  std::erase_if(names, [&](const Name& name) {
    return name.size() < fewest || std::all_of(name.begin(), name.end(), [](const TextWord& word) {
             return word.digit || word.form.size() < 2 || is_in_capitals(word) || is_time(word);
           });
  });
  return names;
}

// An answer's words, without an article.
std::vector<TextWord> words_said(std::string_view answer) {
  std::vector<TextWord> said = text_words(answer);
  if (!said.empty() && (said[0].form == "the" || said[0].form == "a" || said[0].form == "an"))
    said.erase(said.begin());
  return said;
}

// The place from `from` on where these words stand in a row; none: the size of the text.
std::size_t place_of(std::span<const TextWord> text, std::span<const TextWord> words, std::size_t from) {
  if (from >= text.size()) return text.size();
  const auto at =
      std::search(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), words.begin(), words.end(),
                  [](const TextWord& a, const TextWord& b) { return a.form == b.form; });
  return static_cast<std::size_t>(at - text.begin());
}

// The sentence around a word: its first one, and the one behind its last.
std::pair<std::size_t, std::size_t> sentence_at(std::span<const TextWord> text, std::size_t word) {
  std::size_t first = word, last = word + 1;
  while (!text[first].begins) --first;
  while (last < text.size() && !text[last].begins) ++last;
  return {first, last};
}

// Whether a text says these words, but something else for the `said` ones at their end or beginning: a name
// or number where those are one.
bool is_changed(std::span<const TextWord> text, std::span<const TextWord> words, std::size_t said,
                bool at_end) {
  const std::size_t kept = words.size() - said;
  const std::span<const TextWord> frame = at_end ? words.first(kept) : words.last(kept);
  const TextWord& value = at_end ? words[kept] : words[said - 1];  // beside the frame
  for (std::size_t at = place_of(text, frame, 0); at < text.size(); at = place_of(text, frame, at + 1)) {
    const std::size_t place = at_end ? at + kept : at - 1;
    if (place < text.size() && text[place].form != value.form && text[place].capital == value.capital)
      return true;
  }
  return false;
}

constexpr int kSentencesBefore = 2;  // of which a sentence may go on to speak ("He was born in 1913.")

}  // namespace

Evidence::Evidence(std::string_view question) {
  for (const std::string_view sentence : sentences(question)) {
    const std::vector<TextWord> words = text_words(sentence);
    if (!asks(sentence, words)) continue;
    for (Name& name : names_asked_for(words)) names_.push_back(std::move(name));
    for (std::size_t i = 1; i < words.size(); ++i)
      if (has_weight(words[i])) asked_.push_back(words[i].form);
  }
}

bool Evidence::is_spoken_of(Words words) const {
  return std::any_of(names_.begin(), names_.end(), [&](const Name& name) { return is_named(name, words); });
}

bool Evidence::speaks_against(std::string_view answer, const Passage& passage) const {
  const std::vector<TextWord> said = words_said(answer);
  if (names_.empty() || said.empty()) return false;
  const std::vector<TextWord> words = text_words(passage.text);
  std::size_t at = place_of(words, said, 0);
  if (at == words.size()) return false;
  if (!is_spoken_of(words) && !is_spoken_of(text_words(passage.before))) return true;
  for (; at < words.size(); at = place_of(words, said, at + 1))
    if (!is_of_others(words, at, at + said.size())) return false;
  return true;
}

std::int64_t Evidence::says_what_is_asked(Words sentence) const {
  const auto said = std::count_if(asked_.begin(), asked_.end(), [&](std::string_view form) {
    return std::any_of(sentence.begin(), sentence.end(),
                       [&](const TextWord& word) { return is_same_word(word.form, form); });
  });
  return 2 * said >= std::ssize(asked_) ? said : 0;
}

std::int64_t Evidence::speaks_for(std::string_view passage) const {
  const std::vector<TextWord> words = text_words(passage);
  std::int64_t most = 0;
  for (std::size_t first = 0, last = 0; first < words.size(); first = last) {
    last = sentence_at(words, first).second;
    const Words sentence = Words(words).subspan(first, last - first);
    const bool named = std::any_of(names_.begin(), names_.end(), [&](const Name& name) {
      return place_of(sentence, name, 0) < sentence.size();
    });
    if (named) most = std::max(most, says_what_is_asked(sentence));
  }
  return most;
}

bool Evidence::is_told_anew(std::string_view answer, std::string_view passage, std::string_view newer) const {
  const std::vector<TextWord> said = words_said(answer), words = text_words(passage),
                              later = text_words(newer);
  if (said.empty()) return false;
  for (std::size_t begin = place_of(words, said, 0); begin < words.size();
       begin = place_of(words, said, begin + 1)) {
    const std::size_t end = begin + said.size();
    const auto [first, last] = sentence_at(words, begin);
    for (const Name& name : names_) {
      const std::size_t at = place_of(Words(words).first(last), name, first), behind = at + name.size();
      if (at == last) continue;
      const bool ahead =
          behind < begin && is_changed(later, Words(words).subspan(at, end - at), said.size(), true);
      const bool after =
          end < at && is_changed(later, Words(words).subspan(begin, behind - begin), said.size(), false);
      if (ahead || after) return true;
    }
  }
  return false;
}

// The sentence says what was asked, but names others, and those before it do not speak of whom it was asked.
bool Evidence::is_of_others(Words passage, std::size_t begin, std::size_t end) const {
  const std::size_t first = sentence_at(passage, begin).first, last = sentence_at(passage, end - 1).second;
  std::size_t before = first;
  for (int n = 0; n < kSentencesBefore && before > 0; ++n)
    for (--before; !passage[before].begins;) --before;
  if (is_spoken_of(passage.subspan(before, last - before))) return false;
  if (!says_what_is_asked(passage.subspan(first, last - first))) return false;
  // The word that begins a sentence may have its capital for that.
  for (const Words part : {passage.subspan(first, begin - first), passage.subspan(end, last - end)})
    for (const Name& other : names_of(part))
      if (!std::all_of(other.begin(), other.end(), [](const TextWord& word) { return word.digit; }) &&
          (other.size() > 1 || !other[0].begins))
        return true;
  return false;
}

std::string Evidence::names() const {
  std::string text;
  for (const Name& name : names_) {
    if (!text.empty()) text += ", ";
    for (std::size_t i = 0; i < name.size(); ++i) text.append(i > 0 ? " " : "").append(name[i].own);
  }
  return text;
}

}  // namespace mplus::engine
