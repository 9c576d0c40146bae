#include "mplus/train/lessons/made/kinds.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/core/error.h"

namespace mplus::train::made {

Template::Template(std::string_view text, const TableLine& line) {
  while (!text.empty()) {
    const std::size_t gap = std::min(text.find('{'), text.size());
    if (gap > 0) parts_.push_back({kText, false, text.substr(0, gap)});
    text.remove_prefix(gap);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    if (close == text.npos) line.refuse(fmt::format("a gap without an end, \"{}\"", text));
    std::string_view inner = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    const bool with_article = inner.starts_with("a ");
    if (with_article) inner.remove_prefix(2);
    if (inner.size() != 1 || (inner != "=" && (inner < "1" || inner > "3")))
      line.refuse(fmt::format("\"{{{}}}\" is no gap: expected 1, 2, 3 or =, perhaps behind \"a \"", inner));
    parts_.push_back({inner == "=" ? kAnswer : static_cast<std::size_t>(inner[0] - '1'), with_article, {}});
  }
}

std::string Template::filled(const std::vector<std::string>& fields, std::string_view answer) const {
  constexpr std::size_t kUsualSize = 96;
  std::string out;
  out.reserve(kUsualSize);
  for (const SentencePart& part : parts_) {
    const std::string_view value = part.what == kText     ? part.text
                                   : part.what == kAnswer ? answer
                                                          : fields[part.what];
    if (part.with_article) {
      out += article(value);
      out += ' ';
    }
    // "… at 5 a.m." ends a sentence as it is.
    out += out.ends_with('.') && value.starts_with('.') ? value.substr(1) : value;
  }
  return out;
}

const Kinds& Kinds::instance() {
  static const Kinds kinds(Tables::instance(), Lexicon::instance());
  return kinds;
}

Kinds::Kinds(const Tables& tables, const Lexicon& lexicon) : lexicon_(lexicon) {
  // Their order decides what a seed draws.
  for (const std::string_view table :
       {"people.txt", "lives.txt", "things.txt", "events.txt", "organisations.txt", "places.txt",
        "inventions.txt", "machines.txt", "ourselves.txt"})
    for (const TableLine& line : tables.lines(table)) read(line);
  weigh();
}

// "Her age" makes more sentences: "Her age is 40.", "40 is her age.", "What age does she have?"
void Kinds::add_noun(std::string_view noun, const TableLine& line, bool is_noun) {
  FactKind& kind = all.back();
  kind.noun = Template(noun, line);
  const auto keep = [&](std::string text) { return Template(texts_.emplace_back(std::move(text)), line); };
  kind.statements.push_back(keep(fmt::format("{}: {{=}}.", noun)));
  if (is_noun) {
    kind.statements.push_back(keep(fmt::format("{} is {{=}}.", noun)));
    kind.statements.push_back(keep(fmt::format("{{=}} is {}.", noun)));
  }
  // "{1}'s age", "the age of {1}", "the age of the {1}"
  std::string_view owner = "{1}", what = noun;
  if (noun.starts_with("{1}'s ")) {
    what.remove_prefix(6);
  } else if (noun.starts_with("the ") && noun.ends_with(" of {1}")) {
    what = noun.substr(4, noun.size() - 11);
  } else if (noun.starts_with("the ") && noun.ends_with(" of the {1}")) {
    what = noun.substr(4, noun.size() - 15);
    owner = "the {1}";
  } else {
    return;
  }
  if (is_noun && what.find('{') == what.npos)
    kind.questions.push_back(keep(fmt::format("What {} does {} have?", what, owner)));
}

void Kinds::read(const TableLine& line) {
  const std::size_t space = line.text.find(' ');
  if (space == line.text.npos) line.refuse("not a line of a kind of fact");
  const std::string_view what = line.text.substr(0, space), text = line.text.substr(space + 1);
  if (what == "#") return add_kind(text, line);
  if (all.empty() || all.back().line.table != line.table)
    line.refuse("no kind of fact (# name) stands before it");
  FactKind& kind = all.back();
  if (what == "of") kind.fields.push_back(field(text, line));
  else if (what == "is") kind.answer = lexicon_.parse(text, line);
  else if (what == "+") kind.statements.emplace_back(text, line);
  else if (what == "?") kind.questions.emplace_back(text, line);
  else if (what == "~") kind.clause = Template(text, line);
  else if (what == "-" || what == "-:") add_noun(text, line, what == "-");
  else line.refuse("not a line of a kind of fact");
}

void Kinds::add_kind(std::string_view name, const TableLine& line) {
  if (std::any_of(all.begin(), all.end(), [&](const FactKind& kind) { return kind.name == name; }))
    line.refuse("a kind of this name stands before it");
  FactKind& kind = all.emplace_back();
  kind.name = name;
  kind.line = line;
}

std::size_t Kinds::field(std::string_view text, const TableLine& line) {
  const auto found = std::find(field_texts_.begin(), field_texts_.end(), text);
  const auto index = static_cast<std::size_t>(found - field_texts_.begin());
  if (found == field_texts_.end()) {
    field_texts_.push_back(text);
    fields.push_back(lexicon_.parse(text, line));
  }
  return index;
}

// A kind with few keys comes seldom, or its keys would soon come again.
void Kinds::weigh() {
  constexpr double kManyKeys = 30000, kFullWeight = 1000;
  std::uint32_t sum = 0;
  for (const FactKind& kind : all) {
    double keys = 1;
    for (const std::size_t field : kind.fields) keys *= lexicon_.count(fields[field]);
    if (kind.fields.empty() || kind.answer.empty() || kind.statements.size() < 3 ||
        kind.questions.size() < 2 || kind.clause.empty() || kind.noun.empty())
      kind.line.refuse(
          "a kind of fact needs of, is, three statements (+ and those of -), two questions, ~ and -");
    sum += 1 + static_cast<std::uint32_t>(kFullWeight * std::min(1.0, keys / kManyKeys));
    weights_.push_back(sum);
  }
}

const FactKind& Kinds::draw(Random& random) const {
  const auto chosen = std::upper_bound(weights_.begin(), weights_.end(), random.below(weights_.back()));
  return all[static_cast<std::size_t>(chosen - weights_.begin())];
}

const FactKind& Kinds::named(std::string_view name) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const FactKind& kind) { return kind.name == name; });
  MPLUS_CHECK(found != all.end(), "no kind of fact is called \"{}\"", name);
  return *found;
}

}  // namespace mplus::train::made
