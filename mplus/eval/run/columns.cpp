#include "mplus/eval/run/columns.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/memory/recall/recall.h"

namespace mplus::eval {

const std::vector<Column>& all_columns() {
  static const std::vector<Column> kColumns{
      {"closed-book", "the question only", Sees::question, "", 0, 0},
      {"window", "the last W tokens of the text, base model", Sees::window, "", 0, 0},
      {"full", "the whole text in context, base model", Sees::full, "", 0, 0},
      {"snapkv", "the whole text, cut to what the question attends to", Sees::snapkv, "", 0, 0},
      {"context", "the passage as text, no memory", Sees::passage, "", 0, 0},
      {"bm25", "the passages BM25 finds as text, no memory", Sees::found, "", 0, 0},
      {"stm", "short-term memory alone", Sees::memory, "none", 0, 0},
      {"mplus", "short- and long-term memory, recall as the delta says", Sees::memory, "", 0, 0},
      {"per-layer", "recall by each layer for itself", Sees::memory, "per-layer", 0, 0},
      {"words-recall", "recall of the chunks BM25 finds", Sees::memory, "words", 0, 0},
      {"hybrid", "recall by vote and words together", Sees::memory, "hybrid", 0, 0},
      {"one-hop", "hybrid, one passage at a time", Sees::memory, "hybrid", 0, 1},
      {"reread", "hybrid, and the best chunk's text in front of the question", Sees::memory, "hybrid", 1, 0},
      {"random-recall", "recall of random rows", Sees::memory, "random", 0, 0},
      {"attention-recall", "recall by query · key, no retriever", Sees::memory, "attention", 0, 0},
      {"oracle-recall", "recall of the right chunk first", Sees::memory, "oracle", 0, 0},
  };
  return kColumns;
}

std::vector<Column> columns_from_names(const std::vector<std::string>& names) {
  std::string known;
  for (const Column& column : all_columns())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", column.name);
  for (const std::string& name : names) {
    const auto at = std::find_if(all_columns().begin(), all_columns().end(),
                                 [&](const Column& c) { return c.name == name; });
    if (at == all_columns().end())
      fail(ErrorCode::invalid_argument, "column \"{}\" is not known; known: {}", name, known);
    if (!at->recall.empty() && !recall_rule_from_name(at->recall))
      fail(ErrorCode::unsupported, "column \"{}\": this program has no recall rule \"{}\"", name, at->recall);
  }
  std::vector<Column> columns;
  for (const Column& column : all_columns())
    if (std::find(names.begin(), names.end(), column.name) != names.end()) columns.push_back(column);
  return columns;
}

}  // namespace mplus::eval
