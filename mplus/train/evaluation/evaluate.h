// The trainer's own evaluation: carries out a plan of `mplus eval … --plan` with its memories side by side on
// one device. What it answers is judged and reported by `mplus eval … --answers`, so there is one scorer.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "mplus/core/numbers/row_format.h"
#include "mplus/train/evaluation/answers.h"
#include "mplus/train/evaluation/plan.h"
#include "mplus/train/model/model.h"

namespace mplus::train {

// By the names of docs/evaluation.md, "Columns".
const std::vector<std::string>& evaluation_columns();

struct EvaluateOptions {
  std::vector<std::string> columns;  // empty: all of them
  std::int64_t streams = 16;         // memories at a time: each takes device memory as it grows
  std::int64_t at_once = 0;          // questions read in one pass; 0: as suits the device
  // Only this share of the plan's memories: part `part` of `parts`, from 1.
  std::int64_t part = 1, parts = 1;
  // How long-term rows are kept. Of several, all are asked of the same memories, so that answers differ by
  // them alone.
  std::vector<RowFormat> rows{RowFormat::plain};
  const std::atomic<bool>* stop = nullptr;
};

// `answers`: one file for each of options.rows. Throws cancelled when told to stop; the answers so far stay
// in the files.
void evaluate(const Model& model, const EvaluationPlan& plan, const io::Tokenizer& tokenizer,
              const EvaluateOptions& options, std::vector<AnswerFile>& answers);

// From files, for the program: loads the model, reads the plan, writes the answers to `out`; of several kinds
// of rows to a file for each, out.int8.jsonl for out.jsonl.
struct EvaluateFiles {
  std::filesystem::path plan, model, delta, out;
  std::string device = "auto";  // "cpu", "cuda"
  std::string command;          // for the record
};
void evaluate(const EvaluateFiles& files, const EvaluateOptions& options);

}  // namespace mplus::train
