#include "mplus/train/lessons/made/kinds.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train::made {

Template::Template(std::string_view text) {
  while (!text.empty()) {
    const std::size_t gap = std::min(text.find('{'), text.size());
    if (gap > 0) parts_.push_back({kText, false, text.substr(0, gap)});
    text.remove_prefix(gap);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    MPLUS_CHECK(close != text.npos, "a gap without an end: {}", text);
    std::string_view inner = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    const bool with_article = inner.starts_with("a ");
    if (with_article) inner.remove_prefix(2);
    MPLUS_CHECK(inner.size() == 1 && (inner == "=" || (inner >= "1" && inner <= "3")), "not a gap: {}",
                inner);
    parts_.push_back({inner == "=" ? kAnswer : static_cast<std::size_t>(inner[0] - '1'), with_article, {}});
  }
}

std::string Template::filled(const std::vector<std::string>& fields, std::string_view answer) const {
  constexpr std::size_t kUsualSize = 96;
  std::string out;
  out.reserve(kUsualSize);
  for (const Part& part : parts_) {
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
  static const Kinds kinds = [] {
    Kinds read;
    for (const std::string_view table :
         {kPeople, kLives, kThings, kEvents, kOrganisations, kPlaces, kInventions, kMachines, kOurselves})
      read.read(table);
    read.weigh();
    return read;
  }();
  return kinds;
}

// "Her age" makes more sentences: "Her age is 40.", "40 is her age.", "What age does she have?"
void Kinds::add_noun(std::string_view noun, std::deque<std::string>& texts, bool is_noun) {
  Kind& kind = all.back();
  kind.noun = Template(noun);
  const auto keep = [&](std::string text) { return Template(texts.emplace_back(std::move(text))); };
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

void Kinds::read(std::string_view table) {
  static std::deque<std::string> texts;  // kinds point into them
  texts.push_back(join_continued(table));
  for (const std::string_view line : lines(texts.back())) {
    const std::size_t space = line.find(' ');
    MPLUS_CHECK(space != line.npos, "not a line of a kind of fact: {}", line);
    const std::string_view what = line.substr(0, space), text = line.substr(space + 1);
    if (what == "#") all.emplace_back().name = text;
    else if (what == "of") all.back().fields.push_back(field(text));
    else if (what == "is") all.back().answer = Lexicon::instance().parse(text);
    else if (what == "+") all.back().statements.emplace_back(text);
    else if (what == "?") all.back().questions.emplace_back(text);
    else if (what == "~") all.back().clause = Template(text);
    else if (what == "-" || what == "-:") add_noun(text, texts, what == "-");
    else MPLUS_CHECK(false, "not a line of a kind of fact: {}", line);
  }
}

std::size_t Kinds::field(std::string_view text) {
  const auto found = std::find(field_texts_.begin(), field_texts_.end(), text);
  const auto index = static_cast<std::size_t>(found - field_texts_.begin());
  if (found == field_texts_.end()) {
    field_texts_.push_back(text);
    fields.push_back(Lexicon::instance().parse(text));
  }
  return index;
}

// A kind with few keys comes seldom, or its keys would soon come again.
void Kinds::weigh() {
  constexpr double kManyKeys = 30000, kFullWeight = 1000;
  std::uint32_t sum = 0;
  for (const Kind& kind : all) {
    double keys = 1;
    for (const std::size_t field : kind.fields) keys *= Lexicon::instance().count(fields[field]);
    MPLUS_CHECK(!kind.answer.empty() && kind.statements.size() >= 3 && kind.questions.size() >= 2 &&
                    !kind.clause.empty() && !kind.noun.empty() && !kind.fields.empty(),
                "a kind of fact lacks lines: {}", kind.name);
    sum += 1 + static_cast<std::uint32_t>(kFullWeight * std::min(1.0, keys / kManyKeys));
    weights_.push_back(sum);
  }
}

const Kind& Kinds::draw(Random& random) const {
  const auto chosen = std::upper_bound(weights_.begin(), weights_.end(), random.below(weights_.back()));
  return all[static_cast<std::size_t>(chosen - weights_.begin())];
}

const Kind& Kinds::named(std::string_view name) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Kind& kind) { return kind.name == name; });
  MPLUS_CHECK(found != all.end(), "no kind of fact is called \"{}\"", name);
  return *found;
}

}  // namespace mplus::train::made
