// Search in two levels beside exact search, in stores of any size: how many of the same chunks come first,
// and how long it takes (docs/recall.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mplus/engine/session.h"
#include "mplus/memory/recall/search/search.h"

namespace mplus::recall_study {

// What one question's tokens ask in every layer.
struct Queries {
  std::vector<std::vector<float>> values;    // [L] of [T, d_r]
  std::vector<memory::LayerQueries> layers;  // views of them
};

struct SearchStudy {
  std::vector<std::int64_t> sizes;  // of the stores, in tokens of text
  SearchOptions search;
  std::int64_t every = 1;   // n-th question
  std::int64_t timed = 20;  // questions for which exact search is run as it is; it takes long in large stores
};

// Stores of retriever keys alone: the chunks of `real`, then chunks made of two of them, drawn by seed: the
// first rows of one and the last of another, in every layer. Rows leave short-term memory in the engine's
// order. A score depends on a row's key alone, so the exact vote follows from scores of the real rows.
void compare_searches(engine::Engine& engine, std::span<const memory::Memory* const> real,
                      std::span<const Queries> questions, const SearchStudy& study, std::uint64_t seed);

}  // namespace mplus::recall_study
