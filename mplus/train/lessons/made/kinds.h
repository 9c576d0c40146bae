// Kinds of fact (tables/people.txt and others, kinds.cpp lists them). Each is a block of lines:
//   # name
//   of  a field of the key, up to three            is  the answer        (both in the language of patterns.h)
//   +   a way to tell it, {1} {2} {3} for the fields, {=} for the answer, {a 1} {a =} with "a" or "an"
//   ?   a way to ask for it
//   ~   the question as a clause: "where {1} lives"
//   -   the answer as a noun phrase: "{1}'s address"; further statements and questions are made of it
//   -:  the same where the answer is no noun: "the ship's fate", which "is" not "sank off Dover"
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/train/lessons/made/patterns.h"

namespace mplus::train::made {

// A sentence with gaps for the values of a fact.
class Template {
 public:
  Template() = default;
  Template(std::string_view text, const TableLine& line);  // throws Error where a gap is none
  bool empty() const { return parts_.empty(); }
  std::string filled(const std::vector<std::string>& fields, std::string_view answer) const;

 private:
  static constexpr std::size_t kText = 100, kAnswer = 101;  // beside the index of a field
  struct SentencePart {
    std::size_t what;
    bool with_article;
    std::string_view text;
  };
  std::vector<SentencePart> parts_;
};

struct FactKind {
  std::string_view name;
  TableLine line;                   // of its name
  std::vector<std::size_t> fields;  // in Kinds::fields
  Choice answer;
  std::vector<Template> statements, questions;
  Template clause, noun;
};

// Throws Error where a table is not written as it should be.
struct Kinds {
  Kinds(const Tables& tables, const Lexicon& lexicon);
  Kinds(const Kinds&) = delete;
  Kinds& operator=(const Kinds&) = delete;
  static const Kinds& instance();  // of the embedded tables, read once

  const FactKind& draw(Random& random) const;
  const FactKind& named(std::string_view name) const;  // the bug of a caller if there is none

  std::vector<FactKind> all;
  std::vector<Choice> fields;  // those of all kinds, each once: kinds that share one share its values

 private:
  void read(const TableLine& line);
  void add_kind(std::string_view name, const TableLine& line);
  void add_noun(std::string_view noun, const TableLine& line, bool is_noun);
  void weigh();
  std::size_t field(std::string_view text, const TableLine& line);

  const Lexicon& lexicon_;
  std::deque<std::string> texts_;  // sentences made of nouns
  std::vector<std::string_view> field_texts_;
  std::vector<std::uint32_t> weights_;  // cumulated
};

}  // namespace mplus::train::made
