// What an evaluation will write and ask, as `mplus eval … --plan` wrote it (docs/evaluation.md, "Plans"), in
// tokens. No torch in here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::train {

using Ids = std::vector<io::TokenId>;

struct PlannedQuestion {
  std::string id;
  Ids prompt;                   // what is read
  std::size_t asks_from = 0;    // its tokens from here on ask what to recall …
  std::size_t asks_to = 0;      // … to here
  std::size_t scored_from = 0;  // the rest is given, and scored instead of answered; 0: an answer is wanted
  Ids context;                  // the same behind the passage, as text; empty: there is none
  std::vector<std::int64_t> gold;  // updates that hold the answer
  bool goes_on() const { return scored_from > 0; }
};

struct PlannedAsk {
  std::size_t question = 0;
  std::int64_t written = 0;                            // names the moment in the results
  std::int64_t updates = 0;                            // done when it is asked
  std::vector<std::pair<std::int64_t, double>> words;  // update, score; the others have none
};

struct PlannedMemory {
  std::uint64_t seed = 0;  // of its drops
  std::vector<Ids> updates;
  std::vector<Ids> again;  // each update's text as it stands in front of a question that reads it again
  std::vector<PlannedQuestion> questions;
  std::vector<PlannedAsk> asks;
};

struct EvaluationPlan {
  std::string name;
  std::int64_t K = 0;
  std::int64_t max_tokens = 0;
  std::int64_t window = 0;  // W
  std::string stop;
  std::vector<io::TokenId> end;
  std::vector<PlannedMemory> memories;
};

// Throws corrupt, unsupported (another version) or model_mismatch (made for another tokenizer).
EvaluationPlan read_plan(const std::filesystem::path& file, const io::Tokenizer& tokenizer);

}  // namespace mplus::train
