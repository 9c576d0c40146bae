#include "mplus/train/lessons/made/patterns.h"

#include <algorithm>
#include <charconv>

#include "mplus/core/error.h"
#include "mplus/core/text.h"

namespace mplus::train::made {
namespace {

void capitalise_words(std::string& text, std::size_t begin) {
  for (std::size_t i = begin; i < text.size(); ++i)
    if ((i == begin || text[i - 1] == ' ') && text[i] >= 'a' && text[i] <= 'z')
      text[i] = static_cast<char>(text[i] - 'a' + 'A');
}

std::int64_t number(std::string_view text, const TableLine& line) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    line.refuse(fmt::format("\"{}\" is no number", text));
  return value;
}

// Takes the next item from "item, item, …".
std::string_view next_item(std::string_view& items) {
  const std::size_t end = std::min(items.find(", "), items.size());
  const std::string_view item = trim(items.substr(0, end));
  items.remove_prefix(std::min(end + 2, items.size()));
  return item;
}

}  // namespace

std::string_view article(std::string_view word) {
  for (const std::string_view spoken_with_consonant : {"uni", "eu", "ute", "uku", "one-", "Uni", "Eu"})
    if (word.starts_with(spoken_with_consonant)) return "a";
  return std::string_view("aeiouAEIOU8").find(word.front()) != std::string_view::npos ? "an" : "a";
}

Syllables::Syllables(const Tables& tables) {
  constexpr std::string_view kTable = "syllables.txt";
  const std::vector<WordList> lists = tables.word_lists(kTable);
  const auto read = [&](std::string_view name, Parts& parts) {
    const auto named = [&](const WordList& list) { return list.name == name; };
    const auto found = std::find_if(lists.begin(), lists.end(), named);
    if (found == lists.end()) fail(ErrorCode::not_found, "{}: no list is called \"{}\"", kTable, name);
    for (std::string_view rest = found->items; !rest.empty();) parts.push_back(next_item(rest));
  };
  read("double onset", double_onsets);
  read("onset", onsets);
  read("vowel", vowels);
  read("double vowel", double_vowels);
  read("stop", stops);
  read("simple onset", simple_onsets);
  read("ending", endings);
  read("taken", taken);
}

const Lexicon& Lexicon::instance() {
  static const Lexicon lexicon(Tables::instance());
  return lexicon;
}

Lexicon::Lexicon(const Tables& tables) : syllables_(tables) {
  // Lists may name each other, so all names are known before the first one is parsed. Their order decides
  // what a seed draws.
  std::vector<WordList> lists;
  for (const std::string_view table : {"names.txt", "words.txt"})
    for (const WordList& list : tables.word_lists(table)) {
      if (std::find(names_.begin(), names_.end(), list.name) != names_.end())
        list.line.refuse("a list of this name stands before it");
      names_.push_back(list.name);
      lists.push_back(list);
    }
  for (const WordList& list : lists) lists_.push_back(parse(list.items, list.line));
}

Choice Lexicon::parse(std::string_view items, const TableLine& line) const {
  Choice choice;
  while (!items.empty()) {
    std::string_view item = next_item(items);
    if (item.empty()) line.refuse("an item is empty");
    Pattern pattern;
    while (!item.empty()) {
      const std::size_t gap = std::min(item.find('<'), item.size());
      if (gap > 0) pattern.push_back({.text = item.substr(0, gap)});
      item.remove_prefix(gap);
      if (item.empty()) break;
      const std::size_t close = item.find('>');
      if (close == item.npos) line.refuse(fmt::format("a gap without an end, \"{}\"", item));
      pattern.push_back(parse_gap(item.substr(1, close - 1), line));
      item.remove_prefix(close + 1);
    }
    choice.push_back(std::move(pattern));
  }
  return choice;
}

PatternPiece Lexicon::parse_gap(std::string_view gap, const TableLine& line) const {
  if (gap == "word") return {.what = PatternPiece::What::word};
  if (gap == "syllables") return {.what = PatternPiece::What::syllables};
  if (const std::size_t dots = gap.find(".."); dots != gap.npos)
    return {.what = PatternPiece::What::number,
            .least = number(gap.substr(0, dots), line),
            .most = number(gap.substr(dots + 2), line)};
  if (gap.find_first_of("@#") != gap.npos) return {.what = PatternPiece::What::characters, .text = gap};
  const bool with_article = gap.starts_with("a ");
  if (with_article) gap.remove_prefix(2);
  std::string list(gap);
  const bool capital = !list.empty() && list[0] >= 'A' && list[0] <= 'Z';
  if (capital) list[0] = lower(list[0]);
  const auto name = std::find(names_.begin(), names_.end(), list);
  if (name == names_.end()) line.refuse(fmt::format("no word list is called \"{}\"", gap));
  return {.what = PatternPiece::What::list,
          .with_article = with_article,
          .capital = capital,
          .list = static_cast<std::size_t>(name - names_.begin())};
}

double Lexicon::count(const Choice& choice) const {
  constexpr double kInventedWords = 1e6;
  double sum = 0;
  for (const Pattern& pattern : choice) {
    double texts = 1;
    for (const PatternPiece& piece : pattern) switch (piece.what) {
        case PatternPiece::What::text:
          break;
        case PatternPiece::What::list:
          texts *= count(lists_[piece.list]);
          break;
        case PatternPiece::What::number:
          texts *= static_cast<double>(piece.most - piece.least + 1);
          break;
        case PatternPiece::What::characters:
          for (const char c : piece.text) texts *= c == '@' ? 24 : c == '#' ? 10 : 1;
          break;
        case PatternPiece::What::word:
        case PatternPiece::What::syllables:
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

void TextDraw::append_one_of(const Syllables::Parts& parts, std::string& out) {
  constexpr std::uint64_t kNotALexiconsList = 1u << 20;
  out += parts[one_of(parts.size(), kNotALexiconsList + parts.size())];
}

void TextDraw::draw(const Choice& choice, std::string& out) {
  draw(choice[random_.below(static_cast<std::uint32_t>(choice.size()))], out);
}

void TextDraw::draw(const Pattern& pattern, std::string& out) {
  for (const PatternPiece& piece : pattern) draw(piece, out);
}

void TextDraw::draw(const PatternPiece& piece, std::string& out) {
  constexpr std::uint32_t kRepeatOneIn = 12;
  switch (piece.what) {
    case PatternPiece::What::text:
      out += piece.text;
      break;
    case PatternPiece::What::list: {
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
    case PatternPiece::What::number:
      out += std::to_string(piece.least +
                            random_.below(static_cast<std::uint32_t>(piece.most - piece.least + 1)));
      break;
    case PatternPiece::What::characters:
      draw_characters(piece.text, out);
      break;
    case PatternPiece::What::word:
    case PatternPiece::What::syllables: {
      const std::size_t begin = out.size();
      draw_word(out);
      if (piece.what == PatternPiece::What::word) out[begin] = static_cast<char>(out[begin] - 'a' + 'A');
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
  const Syllables::Parts& taken = Lexicon::instance().syllables().taken;
  const std::size_t begin = out.size();
  do {
    out.resize(begin);
    draw_any_word(out);
  } while (std::find(taken.begin(), taken.end(), std::string_view(out).substr(begin)) != taken.end());
}

void TextDraw::draw_any_word(std::string& out) {
  const Syllables& parts = Lexicon::instance().syllables();
  switch (random_.below(3)) {
    case 0:
      append_one_of(parts.double_onsets, out);
      append_one_of(parts.vowels, out);
      break;
    case 1:
      append_one_of(parts.onsets, out);
      append_one_of(parts.double_vowels, out);
      break;
    default:
      append_one_of(parts.onsets, out);
      append_one_of(parts.vowels, out);
      append_one_of(parts.stops, out);
  }
  if (random_.one_in(3)) {
    append_one_of(parts.simple_onsets, out);
    append_one_of(parts.vowels, out);
  }
  append_one_of(parts.simple_onsets, out);
  append_one_of(parts.endings, out);
}

}  // namespace mplus::train::made
