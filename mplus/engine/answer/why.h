// Where an answer came from: recalled rows lead back to updates, updates to places in sources.
#pragma once

#include <vector>

#include "mplus/engine/answer/answer.h"
#include "mplus/memory/memory.h"

namespace mplus::engine {

// Votes over short- and long-term rows together, and what chunks are ordered by: the same, or with words.
struct Ranking {
  memory::Votes votes, totals;
};

// The chunks something was recalled from, and the best of the others up to kWhyChunks, by falling total.
inline constexpr std::size_t kWhyChunks = 8;

std::vector<WhyChunk> explain(const memory::Memory& memory, const Record& record,
                              const std::vector<std::vector<memory::RecalledRow>>& recalled,
                              const Ranking& ranking, const memory::Prior& prior);

}  // namespace mplus::engine
