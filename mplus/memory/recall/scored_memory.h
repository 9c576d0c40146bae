// Scores of all rows of a memory on the device that holds their keys, all layers in one go, reduced to chunks
// there: one wait for everything.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mplus/kernels/queue.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/scores.h"

namespace mplus::memory {

struct ScoredMemory {
  std::vector<ScoredRows> long_term;   // [L]
  std::vector<ScoredRows> short_term;  // [L]; empty where they were not asked for
  // [L] of every update's score, NaN where a layer has no rows of it. Empty: some rows are of other chunks,
  // and only the host knows them all.
  std::vector<std::vector<double>> chunks;
};

struct ScoreOptions {
  bool short_term = false;  // these rows take part
  std::int64_t top = 0;     // of a chunk's score (VoteOptions)
};

// `scout`: of every layer. None on the processor, and where the device has no room for the keys.
std::optional<ScoredMemory> score_on_device(kernels::Queue& queue, const Memory& memory,
                                            std::span<const LayerQueries> scout, const ScoreOptions& options);

// The K0 best rows of a layer's store, by birth (take_best), chosen on the device; scored there, too, where
// it has room for the keys. None on the processor, and where very many scores are equal.
std::optional<std::vector<RecalledRow>> best_on_device(kernels::Queue& queue, const Memory& memory,
                                                       std::int64_t layer, const LayerQueries& queries);

// The vote over what is known of chunks (ScoredMemory::chunks).
Votes vote_of_chunks(const Memory& memory, std::vector<std::vector<double>> chunks,
                     const VoteOptions& options);

}  // namespace mplus::memory
