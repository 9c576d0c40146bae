// Long documents with questions, in public formats (docs/evaluation.md, "Long documents"): LongBench and
// InfiniteBench (JSON lines), questions with options, LoCoMo (one JSON list of conversations). Told apart by
// their fields.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mplus/eval/data/samples.h"

namespace mplus::eval {

struct LongQuestion {
  Question question;
  std::vector<std::string> options;  // to choose from; empty: free answer
  std::size_t right = 0;             // of the options
  int category = 0;                  // LoCoMo's 1 … 5; 0: none
};

struct LongDocument {
  std::string id;
  std::vector<std::string> texts;  // in order: one, or the sessions of a conversation
  std::vector<LongQuestion> questions;
};

// Neighbouring lines with the same context are one document.
std::vector<LongDocument> read_long_documents(const std::filesystem::path& file);

}  // namespace mplus::eval
