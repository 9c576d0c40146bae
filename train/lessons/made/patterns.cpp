#include "mplus/train/lessons/made/patterns.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {
namespace {

// First syllables of which none can be taken apart into those of the evaluation's invented words: they have
// two consonants before the vowel, two vowels, or two consonants after it.
constexpr std::array<std::string_view, 36> kDoubleOnsets{
    "bl", "br", "ch", "cl", "cr", "dr", "dw", "fl",  "fr",  "gl", "gr", "kl",
    "kr", "pl", "pr", "qu", "sc", "sh", "sk", "sl",  "sm",  "sn", "sp", "st",
    "sw", "th", "tr", "tw", "wh", "wr", "sm", "str", "spr", "j",  "w",  "c"};
constexpr std::array<std::string_view, 20> kOnsets{"b", "d", "f", "g", "h", "k", "l", "m",  "n",  "p",
                                                   "r", "s", "t", "v", "z", "c", "j", "br", "st", "dr"};
constexpr std::array<std::string_view, 6> kVowels{"a", "e", "i", "o", "u", "y"};
constexpr std::array<std::string_view, 11> kDoubleVowels{"ai", "au", "ea", "ee", "ei", "eu",
                                                         "ia", "ie", "oa", "oo", "ou"};
constexpr std::array<std::string_view, 16> kStops{"b",  "d",  "g",  "m",  "p",  "s",  "t",  "rm",
                                                  "nt", "rd", "mp", "nd", "lt", "rt", "sp", "sk"};
constexpr std::array<std::string_view, 14> kSimpleOnsets{"b", "d", "f", "g", "h", "l", "m",
                                                         "n", "p", "r", "t", "v", "w", "z"};
constexpr std::array<std::string_view, 32> kEndings{"a",   "e",   "o",   "ia",  "ix",  "en",  "is",  "us",
                                                    "el",  "or",  "et",  "ine", "ock", "and", "il",  "an",
                                                    "in",  "on",  "ell", "as",  "um",  "ard", "ick", "ost",
                                                    "eth", "und", "ane", "op",  "ess", "our", "ev",  "umb"};
// What these syllables could spell of the evaluation's real names and words: the whole list.
constexpr std::array<std::string_view, 14> kTaken{"bishop", "bremen", "bruno",  "cairo", "camera",
                                                  "clara",  "dublin", "gloria", "jonas", "julia",
                                                  "lisbon", "quito",  "tailor", "turtle"};

void capitalise_words(std::string& text, std::size_t begin) {
  for (std::size_t i = begin; i < text.size(); ++i)
    if ((i == begin || text[i - 1] == ' ') && text[i] >= 'a' && text[i] <= 'z')
      text[i] = static_cast<char>(text[i] - 'a' + 'A');
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  MPLUS_CHECK(error == std::errc() && end == text.data() + text.size(), "not a number in a word list: {}",
              text);
  return value;
}

}  // namespace

std::string_view article(std::string_view word) {
  for (const std::string_view spoken_with_consonant : {"uni", "eu", "ute", "uku", "one-", "Uni", "Eu"})
    if (word.starts_with(spoken_with_consonant)) return "a";
  return std::string_view("aeiouAEIOU8").find(word.front()) != std::string_view::npos ? "an" : "a";
}

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

std::string join_continued(std::string_view text) {
  std::string joined;
  for (const std::string_view line : lines(text)) {
    if (line.front() == ' ') joined.back() = ' ';
    joined += trim(line);
    joined += '\n';
  }
  return joined;
}

const Lexicon& Lexicon::instance() {
  static const Lexicon lexicon;
  return lexicon;
}

Lexicon::Lexicon() {
  static const std::string text = join_continued(kNames) + join_continued(kWords);
  std::vector<std::string_view> items;
  for (const std::string_view line : lines(text)) {
    const std::size_t colon = line.find(": ");
    MPLUS_CHECK(colon != line.npos, "not a word list: {}", line);
    names_.push_back(line.substr(0, colon));
    items.push_back(line.substr(colon + 2));
  }
  for (const std::string_view list : items) lists_.push_back(parse(list));
}

Choice Lexicon::parse(std::string_view items) const {
  Choice choice;
  while (!items.empty()) {
    const std::size_t end = std::min(items.find(", "), items.size());
    std::string_view item = trim(items.substr(0, end));
    items.remove_prefix(std::min(end + 2, items.size()));
    Pattern pattern;
    while (!item.empty()) {
      const std::size_t gap = std::min(item.find('<'), item.size());
      if (gap > 0) pattern.push_back({.text = item.substr(0, gap)});
      item.remove_prefix(gap);
      if (item.empty()) break;
      const std::size_t close = item.find('>');
      MPLUS_CHECK(close != item.npos, "a gap without an end: {}", item);
      pattern.push_back(parse_gap(item.substr(1, close - 1)));
      item.remove_prefix(close + 1);
    }
    choice.push_back(std::move(pattern));
  }
  return choice;
}

Piece Lexicon::parse_gap(std::string_view gap) const {
  if (gap == "word") return {.what = Piece::What::word};
  if (gap == "syllables") return {.what = Piece::What::syllables};
  if (const std::size_t dots = gap.find(".."); dots != gap.npos)
    return {.what = Piece::What::number,
            .least = number(gap.substr(0, dots)),
            .most = number(gap.substr(dots + 2))};
  if (gap.find_first_of("@#") != gap.npos) return {.what = Piece::What::characters, .text = gap};
  const bool with_article = gap.starts_with("a ");
  if (with_article) gap.remove_prefix(2);
  std::string list(gap);
  const bool capital = list[0] >= 'A' && list[0] <= 'Z';
  if (capital) list[0] = static_cast<char>(list[0] - 'A' + 'a');
  const auto name = std::find(names_.begin(), names_.end(), list);
  MPLUS_CHECK(name != names_.end(), "no word list is called \"{}\"", gap);
  return {.what = Piece::What::list,
          .with_article = with_article,
          .capital = capital,
          .list = static_cast<std::size_t>(name - names_.begin())};
}

double Lexicon::count(const Choice& choice) const {
  constexpr double kInventedWords = 1e6;
  double sum = 0;
  for (const Pattern& pattern : choice) {
    double texts = 1;
    for (const Piece& piece : pattern) switch (piece.what) {
        case Piece::What::text:
          break;
        case Piece::What::list:
          texts *= count(lists_[piece.list]);
          break;
        case Piece::What::number:
          texts *= static_cast<double>(piece.most - piece.least + 1);
          break;
        case Piece::What::characters:
          for (const char c : piece.text) texts *= c == '@' ? 24 : c == '#' ? 10 : 1;
          break;
        case Piece::What::word:
        case Piece::What::syllables:
          texts *= kInventedWords;
          break;
      }
    sum += texts;
  }
  return sum;
}

// An item of a list, by its number. The list is named by a number, too.
std::uint32_t TextDraw::one_of(std::size_t items, std::uint64_t list) {
  const auto n = static_cast<std::uint32_t>(items);
  if (vocabulary_.width == 0 || n <= vocabulary_.width) return random_.below(n);
  Random first(vocabulary_.seed ^ (list + 1) * 0x9E3779B97F4A7C15u);
  return (first.below(n) + random_.below(vocabulary_.width)) % n;
}

template <std::size_t n>
void TextDraw::append_one_of(const std::array<std::string_view, n>& parts, std::string& out) {
  constexpr std::uint64_t kNotALexiconsList = 1u << 20;
  out += parts[one_of(n, kNotALexiconsList + n)];
}

void TextDraw::draw(const Choice& choice, std::string& out) {
  draw(choice[random_.below(static_cast<std::uint32_t>(choice.size()))], out);
}

void TextDraw::draw(const Pattern& pattern, std::string& out) {
  for (const Piece& piece : pattern) draw(piece, out);
}

void TextDraw::draw(const Piece& piece, std::string& out) {
  constexpr std::uint32_t kRepeatOneIn = 12;
  switch (piece.what) {
    case Piece::What::text:
      out += piece.text;
      break;
    case Piece::What::list: {
      const Choice& list = Lexicon::instance().list(piece.list);
      std::uint32_t& last = last_[piece.list];
      if (last == 0 || !random_.one_in(kRepeatOneIn)) last = 1 + one_of(list.size(), piece.list);
      const std::size_t begin = out.size();
      draw(list[last - 1], out);
      if (piece.capital) capitalise_words(out, begin);
      if (piece.with_article)
        out.insert(begin, std::string(article(std::string_view(out).substr(begin))) + ' ');
      break;
    }
    case Piece::What::number:
      out += std::to_string(piece.least +
                            random_.below(static_cast<std::uint32_t>(piece.most - piece.least + 1)));
      break;
    case Piece::What::characters:
      draw_characters(piece.text, out);
      break;
    case Piece::What::word:
    case Piece::What::syllables: {
      const std::size_t begin = out.size();
      draw_word(out);
      if (piece.what == Piece::What::word) out[begin] = static_cast<char>(out[begin] - 'a' + 'A');
      break;
    }
  }
}

void TextDraw::draw_characters(std::string_view form, std::string& out) {
  constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ";  // no I and O: they read like digits
  for (const char c : form)
    if (c == '@') out += kLetters[random_.below(static_cast<std::uint32_t>(kLetters.size()))];
    else if (c == '#') out += static_cast<char>('0' + random_.below(10));
    else out += c;
}

void TextDraw::draw_word(std::string& out) {
  const std::size_t begin = out.size();
  do {
    out.resize(begin);
    draw_any_word(out);
  } while (std::find(kTaken.begin(), kTaken.end(), std::string_view(out).substr(begin)) != kTaken.end());
}

void TextDraw::draw_any_word(std::string& out) {
  switch (random_.below(3)) {
    case 0:
      append_one_of(kDoubleOnsets, out);
      append_one_of(kVowels, out);
      break;
    case 1:
      append_one_of(kOnsets, out);
      append_one_of(kDoubleVowels, out);
      break;
    default:
      append_one_of(kOnsets, out);
      append_one_of(kVowels, out);
      append_one_of(kStops, out);
  }
  if (random_.one_in(3)) {
    append_one_of(kSimpleOnsets, out);
    append_one_of(kVowels, out);
  }
  append_one_of(kSimpleOnsets, out);
  append_one_of(kEndings, out);
}

}  // namespace mplus::train::made
