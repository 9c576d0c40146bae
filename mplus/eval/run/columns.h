// What a task is run with: one table, from the floor to the ceiling (docs/evaluation.md, "Columns").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mplus::eval {

enum class Sees {
  question,  // nothing but the question
  window,    // the last W tokens of the text, untouched base model
  full,      // the whole text, untouched base model
  snapkv,    // the whole text read, then only what the question attends to most; untouched base model
  passage,   // the passage that answers, read as text with the delta, no memory
  found,     // the passages BM25 finds, read as text with the delta, no memory
  memory,    // a memory, with some rule of recall
};

struct Column {
  std::string_view name;
  std::string_view what;  // for people
  Sees sees = Sees::question;
  std::string_view recall;  // of memory: the rule's name; empty: as the delta says
  int reread = 0;           // chunks whose text stands in front of the question as well
  int hops = 0;             // of memory: most of them; 0: as the delta says

  bool base_model() const { return sees == Sees::window || sees == Sees::full || sees == Sees::snapkv; }
  // The same whatever was written before or after: asked once.
  bool fixed() const { return sees == Sees::question || sees == Sees::passage; }
};

const std::vector<Column>& all_columns();

// Columns by name, in the table's order; throws invalid_argument naming those that are known, or unsupported
// for one whose rule of recall this program does not have.
std::vector<Column> columns_from_names(const std::vector<std::string>& names);

}  // namespace mplus::eval
