#include "mplus/train/lessons/cloze.h"

#include <algorithm>
#include <array>
#include <vector>

#include "mplus/core/text.h"

namespace mplus::train {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return is_upper(c) || (c >= 'a' && c <= 'z') || static_cast<signed char>(c) < 0;  // and parts of UTF-8
}
bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Pieces between spaces.
std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && is_space(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    if (at > begin) pieces.push_back(text.substr(begin, at - begin));
  }
  return pieces;
}

// Without the punctuation around it, and without a possessive.
std::string_view bare(std::string_view piece) {
  while (!piece.empty() && !is_letter(piece.front()) && !is_digit(piece.front())) piece.remove_prefix(1);
  while (!piece.empty() && !is_letter(piece.back()) && !is_digit(piece.back()) && piece.back() != '%')
    piece.remove_suffix(1);
  if (piece.ends_with("'s")) piece.remove_suffix(2);
  return piece;
}

bool ends_sentence(std::string_view piece) {
  while (!piece.empty() && (piece.back() == '"' || piece.back() == '\'' || piece.back() == ')'))
    piece.remove_suffix(1);
  if (piece.empty()) return false;
  if (piece.back() == '!' || piece.back() == '?') return true;
  if (piece.back() != '.') return false;
  const std::string_view word = bare(piece);
  // An initial or a title goes on.
  return word.size() > 1 &&
         !is_one_of(word, {"Mr", "Mrs", "Ms", "Dr", "St", "No", "vs", "etc", "i.e", "e.g"});
}

// Something of a sentence that can be asked for: pieces first … last.
struct Span {
  enum class What { name, year, number, phrase, word } what;
  std::size_t first, last;
};

bool is_name(std::string_view word) {
  return word.size() > 1 && is_upper(word[0]) &&
         !is_one_of(word, {"The",  "It",    "He",  "She", "They", "We",  "You",    "His",  "Her",  "But",
                           "And",  "In",    "On",  "At",  "If",   "As",  "So",     "That", "This", "There",
                           "What", "When",  "Who", "Why", "How",  "No",  "Yes",    "Oh",   "My",   "Your",
                           "Our",  "Their", "For", "Not", "Then", "Now", "Chapter"});
}

// Words that hold a sentence together and say nothing themselves.
bool is_small(std::string_view word) {
  return is_one_of(word,
                   {"a",    "an",    "the",   "of",   "in",    "on",    "at",   "to",    "by",    "for",
                    "with", "from",  "into",  "and",  "or",    "but",   "as",   "than",  "then",  "that",
                    "this", "these", "those", "it",   "its",   "he",    "his",  "him",   "she",   "her",
                    "they", "them",  "their", "is",   "was",   "are",   "were", "be",    "been",  "being",
                    "has",  "have",  "had",   "not",  "no",    "so",    "if",   "which", "who",   "whom",
                    "when", "while", "where", "will", "would", "could", "can",  "may",   "there", "also"});
}

bool has_break(std::string_view piece) {
  return !piece.empty() && !is_letter(piece.back()) && !is_digit(piece.back());
}

std::vector<Span> spans_of(const std::vector<std::string_view>& pieces) {
  std::vector<Span> spans;
  constexpr std::size_t kLongestName = 4;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view word = bare(pieces[i]);
    if (word.empty()) continue;
    if (is_digit(word[0])) {
      const bool year = word.size() == 4 && std::all_of(word.begin(), word.end(), is_digit) &&
                        (word[0] == '1' || word[0] == '2');
      spans.push_back({year ? Span::What::year : Span::What::number, i, i});
    } else if (i > 0 && is_name(word)) {
      std::size_t last = i;
      while (last + 1 < pieces.size() && last + 1 - i < kLongestName && !has_break(pieces[last]) &&
             is_name(bare(pieces[last + 1])))
        ++last;
      spans.push_back({Span::What::name, i, last});
      i = last;
    } else if (is_one_of(word, {"the", "a", "an"}) && !has_break(pieces[i])) {
      // "the long north coast": up to the next small word, name or number.
      std::size_t last = i;
      while (last + 1 < pieces.size() && last - i < kLongestName && (last == i || !has_break(pieces[last]))) {
        const std::string_view next = bare(pieces[last + 1]);
        if (next.empty() || is_upper(next[0]) || is_digit(next[0]) || is_small(next)) break;
        ++last;
      }
      if (last > i) {
        spans.push_back({Span::What::phrase, i + 1, last});
        i = last;
      }
    } else if (word.size() >= 6 && i > 0 && !is_upper(word[0]) && !is_small(word)) {
      spans.push_back({Span::What::word, i, i});
    }
  }
  return spans;
}

std::string_view asking_word(Span::What what, Random& random) {
  const auto one_of = [&](std::initializer_list<std::string_view> words) {
    return words.begin()[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(words.size())))];
  };
  switch (what) {
    case Span::What::name:
      return one_of({"who", "what", "which one", "who or what", "where"});
    case Span::What::year:
      return one_of({"when", "what year", "which year"});
    case Span::What::number:
      return one_of({"how many", "what number", "how much"});
    case Span::What::phrase:
      return one_of({"what", "what", "what", "which thing", "who", "where"});
    case Span::What::word:
      break;
  }
  return one_of({"what", "what", "how", "which word"});
}

// The sentence with the asking word for the span, or that word first and what is around the span behind it.
// Far words are left out, and here and there one more; often most of the small ones, as whoever asks has
// another sentence in mind.
std::string ask_for(const std::vector<std::string_view>& pieces, const Span& span, Random& random) {
  constexpr double kLeftOut = 0.05, kSparse = 0.5, kSmallLeftOut = 0.6, kOtherLeftOut = 0.2;
  const bool sparse = random.chance(kSparse);
  const auto before = static_cast<std::size_t>(random.between(5, 14));
  const auto after = static_cast<std::size_t>(random.between(5, 14));
  const std::size_t first = span.first > before ? span.first - before : 0;
  const std::size_t last = std::min(pieces.size() - 1, span.last + after);
  const bool in_front = random.chance(0.5);
  std::string question;
  const auto add = [&](std::string_view word) {
    if (word.empty()) return;
    if (!question.empty()) question += ' ';
    question += word;
  };
  const std::string_view asking = asking_word(span.what, random);
  if (in_front) add(asking);
  for (std::size_t i = first; i <= last; ++i) {
    if (i == span.first && !in_front) add(asking);
    if (i >= span.first && i <= span.last) continue;
    const double left_out = !sparse ? kLeftOut : is_small(bare(pieces[i])) ? kSmallLeftOut : kOtherLeftOut;
    if (!random.chance(left_out)) add(i == first ? bare(pieces[i]) : pieces[i]);
  }
  while (!question.empty() && !is_letter(question.back()) && !is_digit(question.back())) question.pop_back();
  if (question.empty()) return question;
  if (question[0] >= 'a' && question[0] <= 'z') question[0] = static_cast<char>(question[0] - 'a' + 'A');
  question += '?';
  return question;
}

}  // namespace

std::optional<Cloze> make_cloze(std::string_view text, Random& random) {
  constexpr std::size_t kFewest = 6, kMost = 45;  // pieces of a sentence
  const std::vector<std::string_view> pieces = pieces_of(text);
  std::vector<std::vector<std::string_view>> sentences;
  bool whole = false;  // the first one may have lost its beginning
  std::vector<std::string_view> sentence;
  for (const std::string_view piece : pieces) {
    sentence.push_back(piece);
    if (!ends_sentence(piece)) continue;
    if (whole && sentence.size() >= kFewest && sentence.size() <= kMost) sentences.push_back(sentence);
    sentence.clear();
    whole = true;
  }
  constexpr int kTries = 6;
  for (int i = 0; i < kTries && !sentences.empty(); ++i) {
    const auto& chosen =
        sentences[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(sentences.size())))];
    std::vector<Span> spans = spans_of(chosen);
    if (spans.empty()) continue;
    // By what is asked for, then any of them: words are many, names and numbers are what people ask for.
    constexpr std::array<double, 5> kWeights = {4, 4, 3, 4, 2};  // as in Span::What
    std::array<double, 5> counts{};
    for (const Span& span : spans) ++counts[static_cast<std::size_t>(span.what)];
    std::vector<double> weights;
    for (const Span& span : spans) {
      const auto what = static_cast<std::size_t>(span.what);
      weights.push_back(kWeights[what] / counts[what]);
    }
    const Span& span = spans[random.pick(weights)];
    const std::string_view first = bare(chosen[span.first]), last = bare(chosen[span.last]);
    Cloze cloze{
        ask_for(chosen, span, random),
        std::string(first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data()))};
    std::replace_if(cloze.answer.begin(), cloze.answer.end(), is_space, ' ');
    if (cloze.question.size() > 20 && !contains_ignoring_case(cloze.question, cloze.answer)) return cloze;
  }
  return std::nullopt;
}

}  // namespace mplus::train
