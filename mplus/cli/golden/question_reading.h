// A question read over a memory in one of the ways that golden cases of a delta know.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mplus/cli/golden/case_folder.h"

namespace mplus::golden {

using Births = std::vector<std::int64_t>;

struct Question {
  std::string name;
  std::vector<io::TokenId> window;
  std::int64_t answer_starts = 0;
  std::span<const io::TokenId> asks() const {
    return std::span(window).first(static_cast<std::size_t>(answer_starts));
  }
};

// One way to read a question, by its name in the case.
struct Way {
  RecallPolicy policy = {.rule = RecallRule::none};
  std::vector<double> layer_weights = {};  // of the vote
  std::int64_t attempt = 0;
  bool has_memory = true;
};

Way way_named(const std::string& name, const model::Weights& weights);

struct Reading {
  std::vector<double> answer_nll;
  std::vector<float> logits;  // behind the question
  Births greedy;
  std::vector<Births> recalled, seen;  // by layer; seen: of short-term memory, where not all of it
  memory::Votes votes;
  double behind = 0;
  bool has_next = false;
};

// What the reference did. rows: recalled births by layer, then, where not all of short-term memory is read,
// those of short-term rows by layer; empty: what the way itself recalls.
struct Given {
  std::vector<Births> rows;
  std::size_t steps = 1;
};

// Reads question and answer over the rows given, then answers with so many tokens over rows of its own
// choice.
Reading read_question(GoldenModel& model, const memory::Memory& memory, const Question& question,
                      const Way& way, const Given& given);

}  // namespace mplus::golden
