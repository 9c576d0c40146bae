// Where an answer came from: recalled rows lead back to updates, updates to places in sources.
#pragma once

#include <vector>

#include "mplus/engine/answer.h"
#include "mplus/memory/memory.h"

namespace mplus::engine {

// The chunks something was recalled from, and the best-voted others up to kWhyChunks, by falling vote.
inline constexpr std::size_t kWhyChunks = 8;

std::vector<WhyChunk> explain(const memory::Memory& memory, const Record& record,
                              const std::vector<std::vector<memory::RecalledRow>>& recalled,
                              const memory::Votes& votes);

}  // namespace mplus::engine
