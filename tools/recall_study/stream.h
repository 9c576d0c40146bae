// One long stream of text in which passages that will be asked about stand among others and among other text:
// the setting in which recall is judged (docs/recall.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mplus/engine/engine.h"

namespace mplus::recall_study {

struct Passage {
  std::string set;  // "facts", "squad", "nq", "books"; empty: nobody asks about it
  std::string id;
  std::string text;  // at most one chunk
  std::string question;
  std::vector<std::string> answers;  // empty: only whether it is found counts
};

struct StreamFiles {
  std::vector<std::pair<std::string, std::filesystem::path>> questions;  // set, file
  std::filesystem::path books;                                           // continued from 24 tokens
  std::vector<std::filesystem::path> fillers;                            // what stands between
};

// `chunks` passages in an order that follows from the seed, `questions` of each set among them. A passage
// stands in the middle of a chunk, its neighbours in the file around it.
std::vector<Passage> make_stream(const engine::Engine& engine, const StreamFiles& files, std::int64_t chunks,
                                 std::int64_t questions, std::uint64_t seed);

}  // namespace mplus::recall_study
