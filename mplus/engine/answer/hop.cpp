#include "mplus/engine/answer/hop.h"

#include <algorithm>
#include <array>

namespace mplus::engine {
namespace {

constexpr int kMostNames = 6;            // that are looked for
constexpr std::size_t kMostChunks = 8;   // looked at for each of them
constexpr std::ptrdiff_t kMostFrom = 5;  // a link may begin in: of the candidates, and found by each name

using Words = std::span<const TextWord>;

template <std::size_t N>
bool is_one_of(std::string_view form, const std::array<std::string_view, N>& forms) {
  return std::find(forms.begin(), forms.end(), form) != forms.end();
}

// Of people and what else has a name of its own: "Ana's boss", but not "Ana's car".
bool has_a_name(std::string_view form) {
  constexpr std::array<std::string_view, 64> kNouns = {
      "boss",     "manager",    "chief",     "supervisor", "sister",    "brother",  "mother",   "father",
      "wife",     "husband",    "son",       "daughter",   "aunt",      "uncle",    "cousin",   "niece",
      "nephew",   "neighbour",  "neighbor",  "friend",     "colleague", "partner",  "teacher",  "coach",
      "trainer",  "tutor",      "mentor",    "doctor",     "dentist",   "lawyer",   "landlord", "landlady",
      "tenant",   "roommate",   "flatmate",  "assistant",  "secretary", "employer", "company",  "firm",
      "employee", "customer",   "client",    "author",     "founder",   "owner",    "director", "captain",
      "school",   "university", "college",   "club",       "team",      "band",     "choir",    "orchestra",
      "hospital", "bank",       "publisher", "church",     "village",   "hometown", "country",  "ship"};
  if (is_one_of(form, kNouns)) return true;
  return form.ends_with('s') && is_one_of(form.substr(0, form.size() - 1), kNouns);
}

// A sentence that goes on to speak of whom the one before it names.
bool goes_on(Words sentence) {
  constexpr std::array<std::string_view, 8> kPronouns = {"he",  "she", "they",  "it",
                                                         "his", "her", "their", "its"};
  return is_one_of(sentence.front().form, kPronouns);
}

// Sentences, each with those that go on from it.
std::vector<Words> statements(Words words) {
  std::vector<Words> found;
  for (std::size_t begin = 0, end = 0; begin < words.size(); begin = end) {
    for (end = begin + 1; end < words.size() && !words[end].begins;) ++end;
    const Words sentence = words.subspan(begin, end - begin);
    if (!found.empty() && goes_on(sentence)) {
      found.back() = {found.back().data(), found.back().size() + sentence.size()};
    } else {
      found.push_back(sentence);
    }
  }
  return found;
}

bool holds(const Name& name, const Name& part) {
  return std::all_of(part.begin(), part.end(), [&](const TextWord& word) {
    return std::any_of(name.begin(), name.end(), [&](const TextWord& w) { return w.form == word.form; });
  });
}

// All of it, as one name.
bool is_named_in_full(const Name& name, Words words) {
  const std::vector<Name> others = names_of(words);
  return std::any_of(others.begin(), others.end(), [&](const Name& other) { return holds(other, name); });
}

// Words with a capital for another reason than being a name.
bool is_no_name(const Name& name) {
  if (name.size() == 1 && name[0].begins) return true;
  return std::all_of(name.begin(), name.end(),
                     [](const TextWord& word) { return word.digit || word.form.size() < 2; });
}

bool same_form(const TextWord& a, const TextWord& b) { return a.form == b.form; }

std::int64_t count(const std::vector<bool>& said) { return std::count(said.begin(), said.end(), true); }

std::string text_of(const Name& name) {
  std::string text;
  for (const TextWord& word : name) text.append(text.empty() ? "" : " ").append(word.own);
  return text;
}

bool is_relative(std::string_view form) {
  constexpr std::array<std::string_view, 5> kRelative = {"that", "which", "who", "whom", "where"};
  return is_one_of(form, kRelative);
}

bool is_preposition(std::string_view form) {
  constexpr std::array<std::string_view, 9> kPrepositions = {"for", "to", "at",   "in",   "with",
                                                             "by",  "on", "from", "under"};
  return is_one_of(form, kPrepositions);
}

// No noun before a name: "does Ana", "with Ana".
bool is_auxiliary(std::string_view form) {
  constexpr std::array<std::string_view, 20> kWords = {
      "does", "did",   "do",  "is",    "was", "are",    "were", "has", "have",   "had",
      "will", "would", "can", "could", "may", "should", "and",  "or",  "called", "the"};
  return is_one_of(form, kWords) || is_relative(form) || is_preposition(form);
}

}  // namespace

Hop::Hop(const Evidence& asked, std::string_view question)
    : question_(question), words_(text_words(question)), names_(asked.asked_names()) {
  // These ask for no property of their own.
  constexpr std::array<std::string_view, 8> kLight = {"name",   "named", "called", "person",
                                                      "people", "kind",  "tell",   "thing"};
  for (const std::string& word : asked.asked_words())
    if (!is_one_of(word, kLight) && std::find(asked_.begin(), asked_.end(), word) == asked_.end())
      asked_.push_back(word);
  for (const Name& name : names_) {
    const auto at = std::search(words_.begin(), words_.end(), name.begin(), name.end(), same_form);
    if (at == words_.end() || phrase_) continue;
    const auto begin = static_cast<std::size_t>(at - words_.begin());
    phrase_ = phrase_at(begin, begin + name.size());
    if (phrase_ && !has_a_name(words_[phrase_->noun].form)) phrase_.reset();
  }
}

// Part of the noun behind it: "business partner".
bool Hop::is_compound(std::size_t word) const {
  return word > 0 && words_[word + 1].goes_on && !words_[word].capital && !words_[word].possessive() &&
         words_[word].form.size() > 3 && !is_auxiliary(words_[word].form);
}

// "Ana's boss", "the person who is Ana's boss", "the boss of Ana", "the company (that) Ana works for".
std::optional<Hop::Phrase> Hop::phrase_at(std::size_t begin, std::size_t end) const {
  const auto form = [&](std::size_t i) { return i < words_.size() ? std::string_view(words_[i].form) : ""; };
  Phrase phrase{begin, end, 0};
  if (words_[end - 1].possessive()) {
    if (end >= words_.size() || words_[end].begins) return std::nullopt;
    phrase = {begin, end + 1, end};
    while (phrase.end < words_.size() && !has_a_name(form(phrase.noun)) && has_a_name(form(phrase.end)))
      phrase.noun = phrase.end++;
    if (begin >= 4 && (form(begin - 1) == "is" || form(begin - 1) == "was") && is_relative(form(begin - 2)))
      phrase.begin = begin - 3;
  } else if (begin >= 2 && form(begin - 1) == "of") {
    phrase.begin = phrase.noun = begin - 2;
  } else if (begin >= 2 &&
             (is_relative(form(begin - 1)) ||
              (words_[begin].goes_on && form(begin - 1).size() > 3 && !is_auxiliary(form(begin - 1))))) {
    phrase.begin = phrase.noun = begin - (is_relative(form(begin - 1)) ? 2 : 1);
    if (end >= words_.size()) return std::nullopt;
    phrase.end = end + (is_preposition(form(end + 1)) ? 2 : 1);
  } else {
    return std::nullopt;
  }
  while (phrase.begin > 0 && is_compound(phrase.begin - 1)) --phrase.begin;
  if (phrase.begin > 0 && (form(phrase.begin - 1) == "the" || form(phrase.begin - 1) == "a")) --phrase.begin;
  return phrase;
}

std::string Hop::question_of(const Name& name) const {
  const TextWord& last = words_[phrase_->end - 1];
  const std::string owner = last.possessive() ? "'s" : "";
  return question_.substr(0, words_[phrase_->begin].at) + text_of(name) + owner + question_.substr(last.end);
}

bool Hop::asks_beyond_phrase() const {
  return phrase_ && std::any_of(asked_.begin(), asked_.end(), [&](const std::string& word) {
           for (std::size_t i = phrase_->begin; i < phrase_->end; ++i)
             if (words_[i].form == word) return false;
           return true;
         });
}

Hop::Fit Hop::fit(Words sentence) const {
  const std::string& noun = words_[phrase_->noun].form;
  bool says_another = false;
  for (const TextWord& word : sentence) {
    if (is_same_word(word.form, noun)) return Fit::said;
    says_another = says_another || (!word.capital && has_a_name(word.form));
  }
  return says_another ? Fit::no : Fit::possible;
}

Hop::Said Hop::said_in(Words words) const {
  Said said(asked_.size());
  for (std::size_t i = 0; i < asked_.size(); ++i)
    said[i] = std::any_of(words.begin(), words.end(),
                          [&](const TextWord& word) { return is_same_word(word.form, asked_[i]); });
  return said;
}

// By the whole name or by a part of it.
bool Hop::is_asked(const Name& name) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const Name& asked) { return holds(asked, name) || holds(name, asked); });
}

std::optional<Link> Hop::from(std::span<const std::int64_t> candidates, const Passages& passages) const {
  if (!asks_beyond_phrase()) return std::nullopt;
  std::vector<std::int64_t> begin(candidates.begin(),
                                  candidates.begin() + std::min(std::ssize(candidates), kMostFrom));
  for (const Name& name : names_) {
    const std::vector<std::int64_t> named = passages.find(text_of(name));
    for (std::ptrdiff_t i = 0; i < std::min(std::ssize(named), kMostFrom); ++i)
      if (std::find(begin.begin(), begin.end(), named[static_cast<std::size_t>(i)]) == begin.end())
        begin.push_back(named[static_cast<std::size_t>(i)]);
  }
  Search search{passages, std::nullopt, kMostNames};
  for (const std::int64_t chunk : begin) {
    const std::vector<TextWord> words = text_words(passages.text(chunk));
    for (const Words sentence : statements(words))
      if (std::any_of(names_.begin(), names_.end(),
                      [&](const Name& name) { return is_named(name, sentence); }))
        look_beside_asked(chunk, sentence, search);
  }
  return std::move(search.best);
}

void Hop::look_beside_asked(std::int64_t chunk, Words sentence, Search& search) const {
  const Said said = said_in(sentence);
  if (count(said) == std::ssize(said)) return;  // nothing else was asked
  if (fit(sentence) == Fit::no) return;
  for (const Name& name : names_of(sentence))
    if (!is_no_name(name) && !is_asked(name) && search.left > 0) follow(name, chunk, sentence, search);
}

void Hop::follow(const Name& name, std::int64_t chunk, Words sentence, Search& search) const {
  --search.left;
  const Said first = said_in(sentence);
  std::string query = text_of(name);
  for (std::size_t i = 0; i < asked_.size(); ++i)
    if (!first[i]) query.append(" ").append(asked_[i]);
  std::vector<std::int64_t> found = search.passages.find(query);
  std::erase(found, chunk);
  found.resize(std::min(found.size(), kMostChunks));
  const Fit fits = fit(sentence);
  for (const std::int64_t other : found) {
    const std::vector<TextWord> words = text_words(search.passages.text(other));
    if (!is_named_in_full(name, words)) continue;
    for (const Words second : statements(words)) {
      if (!is_named(name, second)) continue;
      std::optional<Link> way = link(first, said_in(second), fits);
      const auto better = [](const Link& a, const Link& b) {
        return a.certain != b.certain ? a.certain : a.said > b.said;
      };
      if (!way || (search.best && !better(*way, *search.best))) continue;
      way->from = chunk;
      way->to = other;
      way->name = name;
      way->question = question_of(name);
      search.best = std::move(way);
    }
  }
}

std::optional<Link> Hop::link(const Said& first, const Said& second, Fit fits) const {
  if (fits != Fit::said && count(second) == 0) return std::nullopt;
  Link link;
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    link.said += first[i] || second[i];
    link.certain = link.certain || (first[i] && !second[i]);
  }
  return link;
}

bool Hop::doubts(std::string_view answer, std::string_view passage, const Link& link) const {
  const std::vector<TextWord> said = text_words(answer), words = text_words(passage);
  const auto is_part_of = [&](const Name& name) {
    return std::search(name.begin(), name.end(), said.begin(), said.end(), same_form) != name.end();
  };
  if (is_part_of(link.name) || std::any_of(names_.begin(), names_.end(), is_part_of))
    return true;  // whom it leads to or from
  if (!link.certain) return false;
  std::int64_t most = 0;
  for (const Words sentence : statements(words))
    if (std::search(sentence.begin(), sentence.end(), said.begin(), said.end(), same_form) != sentence.end())
      most = std::max(most, count(said_in(sentence)));
  return most < static_cast<std::int64_t>(link.said);
}

}  // namespace mplus::engine
