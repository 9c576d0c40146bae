#include "mplus/train/lessons/made_facts.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/train/lessons/made/tables.h"

namespace mplus::train {
namespace {

using made::FactKind;
using made::Kinds;

constexpr char kSeparator = '|';

void capitalise(std::string& sentence) {
  if (sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
}

std::string sentence(const made::Template& form, const std::vector<std::string>& fields,
                     std::string_view answer) {
  std::string text = form.filled(fields, answer);
  // A code stays as it must be typed, even where it begins a sentence.
  const bool is_code = !answer.empty() && answer.find_first_of("0123456789@/_-") != answer.npos;
  if (!(is_code && text.starts_with(answer))) capitalise(text);
  return text;
}

void add_once(std::vector<std::string>& texts, std::string text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
}

// As people type in a hurry.
void make_careless(std::string& question) {
  for (char& c : question) c = lower(c);
  while (question.back() == '?' || question.back() == '.') question.pop_back();
}

bool is_part_of_word(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || static_cast<signed char>(c) < 0;
}

bool occurs_in(std::string_view words, std::string_view text) {
  const char first = lower(words[0]);
  for (std::size_t i = 0; i + words.size() <= text.size(); ++i) {
    if (lower(text[i]) != first) continue;
    const std::size_t end = i + words.size();
    if ((i == 0 || !is_part_of_word(text[i - 1])) && (end == text.size() || !is_part_of_word(text[end])) &&
        std::equal(words.begin(), words.end(), text.begin() + static_cast<std::ptrdiff_t>(i),
                   [](char a, char b) { return lower(a) == lower(b); }))
      return true;
  }
  return false;
}

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t value = 14695981039346656037u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return value;
}

std::string in_frame(std::string_view frame, std::string_view text) {
  const std::size_t gap = frame.find("{}");
  std::string framed;
  framed.reserve(frame.size() + text.size());
  framed += frame.substr(0, gap);
  framed += text;
  framed += frame.substr(gap + 2);
  return framed;
}

std::vector<MadeTurn> read_exchanges() {
  std::vector<MadeTurn> exchanges;
  for (const made::TableLine& line : made::Tables::instance().lines("small_talk.txt")) {
    const std::size_t slash = line.text.find(" / ");
    if (slash == line.text.npos) line.refuse("expected \"user / assistant\"");
    exchanges.push_back({std::string(line.text.substr(0, slash)), std::string(line.text.substr(slash + 3))});
  }
  return exchanges;
}

// Three worlds of four are narrow.
std::uint32_t world_width(std::uint64_t world) {
  if (world == 0) return 0;
  constexpr std::uint32_t kNarrowest = 6, kDoublings = 4;
  made::Random random(world);
  return random.one_in(4) ? 0 : kNarrowest << random.below(kDoublings);
}

struct Key {
  const FactKind* kind;
  std::vector<std::string> fields;
};

Key taken_apart(std::string_view key) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find(kSeparator, begin), key.size());
    parts.emplace_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  const FactKind& kind = Kinds::instance().named(parts.front());
  parts.erase(parts.begin());
  return {&kind, std::move(parts)};
}

std::string put_together(const Key& key) {
  std::string text(key.kind->name);
  for (const std::string& field : key.fields) (text += kSeparator) += field;
  return text;
}

template <class T>
const T& one_of(const std::vector<T>& values, made::Random& random) {
  return values[random.below(static_cast<std::uint32_t>(values.size()))];
}

}  // namespace

FactMaker::FactMaker(std::uint64_t seed, const World& world)
    : world_(world),
      width_(world_width(world.seed)),
      draw_(seed, {.seed = world.seed, .width = width_}),
      recent_fields_(Kinds::instance().fields.size()),
      recent_keys_(kDistinct) {
  if (width_ == 0) return;
  constexpr std::uint32_t kFewest = 12, kDoublings = 4;
  made::Random random(world.seed + 1);
  const std::uint32_t wanted = kFewest << random.below(kDoublings);
  for (std::uint32_t i = 0; i < wanted; ++i) kinds_.push_back(&Kinds::instance().draw(random));
}

MadeFact FactMaker::fact() {
  std::vector<std::string> fields;
  fields.reserve(3);
  MadeFact made;
  made.key.reserve(80);
  const FactKind* kind = nullptr;
  // In a world of few names a part may run out of keys: then any key will do.
  constexpr int kMostTries = 4000;
  int tries = 0;
  do {
    kind = &choose_kind();
    fields.clear();
    made.key = kind->name;
    for (const std::size_t field : kind->fields) {
      std::string value = draw_field(field);
      while (std::find(fields.begin(), fields.end(), value) != fields.end()) value = draw_field(field);
      made.key += kSeparator;
      made.key += value;
      fields.push_back(std::move(value));
    }
  } while ((!is_ours(made.key) || !is_new(made.key)) && ++tries < kMostTries);
  made.questions = ask(*kind, fields);
  answer(*kind, fields, {}, made);
  return made;
}

MadeFact FactMaker::changed(const MadeFact& fact) {
  const auto [kind, fields] = taken_apart(fact.key);
  MadeFact made;
  made.key = fact.key;
  made.questions = fact.questions;
  answer(*kind, fields, fact.answer, made);
  return made;
}

std::optional<MadeFact> FactMaker::mistaken(const MadeFact& fact) {
  constexpr int kMostTries = 400;
  constexpr std::uint32_t kOtherKindOneIn = 3;
  const Key told = taken_apart(fact.key);
  std::vector<const FactKind*> alike;
  for (const FactKind& kind : Kinds::instance().all)
    if (kind.fields == told.kind->fields) alike.push_back(&kind);
  for (int i = 0; i < kMostTries; ++i) {
    Key other = told;
    if (draw_.random().one_in(kOtherKindOneIn)) {
      other.kind = one_of(alike, draw_.random());
    } else {
      const std::uint32_t which = draw_.random().below(static_cast<std::uint32_t>(told.fields.size()));
      std::string value = draw_field(told.kind->fields[which]);
      const bool there = std::find(told.fields.begin(), told.fields.end(), value) != told.fields.end();
      if (!there) other.fields[which] = std::move(value);
    }
    std::string key = put_together(other);
    if (key == fact.key || !is_ours(key)) continue;
    return MadeFact{.key = std::move(key),
                    .statements = {},
                    .questions = ask(*other.kind, other.fields),
                    .answer = std::string(unknown_answer())};
  }
  return std::nullopt;
}

const FactKind& FactMaker::choose_kind() {
  constexpr std::uint32_t kRecentOneIn = 5;
  const std::size_t known = std::min(kinds_chosen_, recent_kinds_.size());
  if (known > 0 && draw_.random().one_in(kRecentOneIn))
    return *recent_kinds_[draw_.random().below(static_cast<std::uint32_t>(known))];
  const FactKind& kind =
      kinds_.empty() ? Kinds::instance().draw(draw_.random()) : *one_of(kinds_, draw_.random());
  recent_kinds_[kinds_chosen_++ % recent_kinds_.size()] = &kind;
  return kind;
}

std::string FactMaker::draw_field(std::size_t field) {
  constexpr std::uint32_t kRecentOneIn = 4;
  constexpr std::size_t kKept = 8, kRecentFacts = 200;
  Recent& recent = recent_fields_[field];
  if (!recent.values.empty() && draw_.random().one_in(kRecentOneIn)) {
    const Value& value = one_of(recent.values, draw_.random());
    if (keys_made_ - value.keys_made < kRecentFacts) return value.text;
  }
  Value value{.text = {}, .keys_made = keys_made_};
  constexpr std::uint32_t kPopulation = 200;
  if (world_.seed != 0 && width_ == 0 && draw_.random().one_in(2)) {
    const std::uint64_t person = draw_.random().below(kPopulation);
    made::TextDraw known(world_.seed ^ ((field + 1) * 0x9E3779B97F4A7C15u + person));
    known.draw(Kinds::instance().fields[field], value.text);
    return value.text;
  }
  draw_.draw(Kinds::instance().fields[field], value.text);
  if (recent.values.size() < kKept) recent.values.push_back(value);
  else recent.values[recent.next++ % kKept] = value;
  return value.text;
}

bool FactMaker::is_ours(const std::string& key) const {
  return world_.parts <= 1 || (hash(key) >> 32) % world_.parts == world_.part;
}

bool FactMaker::is_new(const std::string& key) {
  const std::uint64_t value = hash(key);
  if (std::find(recent_keys_.begin(), recent_keys_.end(), value) != recent_keys_.end()) return false;
  recent_keys_[keys_made_++ % kDistinct] = value;
  return true;
}

std::vector<std::string> FactMaker::ask(const FactKind& kind, const std::vector<std::string>& fields) {
  static const std::vector<std::string_view> clause_forms =
      made::Tables::instance().frames("clause_forms.txt");
  static const std::vector<std::string_view> noun_forms = made::Tables::instance().frames("noun_forms.txt");
  constexpr std::uint32_t kCarelessOneIn = 7;
  std::vector<std::string> questions;
  questions.reserve(kind.questions.size() + 4);
  for (const made::Template& question : kind.questions) add_once(questions, sentence(question, fields, {}));
  append_framed(clause_forms, kind.clause.filled(fields, {}), questions);
  append_framed(noun_forms, kind.noun.filled(fields, {}), questions);
  for (std::string& question : questions)
    if (draw_.random().one_in(kCarelessOneIn)) make_careless(question);
  return questions;
}

// Two questions in different frames.
void FactMaker::append_framed(const std::vector<std::string_view>& frames, std::string_view text,
                              std::vector<std::string>& questions) {
  const auto n = static_cast<std::uint32_t>(frames.size());
  const std::uint32_t first = draw_.random().below(n), second = (first + 1 + draw_.random().below(n - 1)) % n;
  for (const std::uint32_t frame : {first, second}) {
    questions.push_back(in_frame(frames[frame], text));
    capitalise(questions.back());
  }
}

void FactMaker::answer(const FactKind& kind, const std::vector<std::string>& fields,
                       std::string_view not_this, MadeFact& fact) {
  const auto fits = [&] {
    return fact.answer != not_this &&
           std::none_of(fact.questions.begin(), fact.questions.end(),
                        [&](const std::string& question) { return occurs_in(fact.answer, question); });
  };
  constexpr int kMostTries = 1000;
  int tries = 0;
  do {
    fact.answer.clear();
    draw_.draw(kind.answer, fact.answer);
    MPLUS_CHECK(++tries < kMostTries, "no answer fits a fact of kind {}, key {}", kind.name, fact.key);
  } while (!fits());
  fact.statements.reserve(kind.statements.size());
  for (const made::Template& statement : kind.statements)
    add_once(fact.statements, sentence(statement, fields, fact.answer));
}

MadeTurn FactMaker::small_talk() {
  static const std::vector<MadeTurn> exchanges = read_exchanges();
  return one_of(exchanges, draw_.random());
}

MadeTurn FactMaker::telling(const std::vector<std::string>& statements) {
  static const std::vector<std::string_view> openings = made::Tables::instance().frames("openings.txt");
  static const std::vector<made::TableLine>& acknowledgements =
      made::Tables::instance().lines("acknowledgements.txt");
  std::string text;
  for (const std::string& statement : statements) {
    if (!text.empty()) text += ' ';
    text += statement;
  }
  if (draw_.random().one_in(2)) text = in_frame(one_of(openings, draw_.random()), text);
  return {std::move(text), std::string(one_of(acknowledgements, draw_.random()).text)};
}

std::string_view unknown_answer() { return "I do not know."; }

}  // namespace mplus::train
