// Chunks that each question tries one after another, as the engine does (ChunkRecall in memory/recall/rules).
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/train/torch.h"

namespace mplus::train {

struct Attempts {
  std::vector<std::vector<std::int64_t>> chunks;  // [Q]
  std::vector<std::vector<double>> behind;        // of each, in standard deviations; 0 of those given
  std::size_t most = 0;

  // The chunk of each question at this attempt, its last one where it has fewer: [Q, 1].
  Tensor at(std::size_t attempt, torch::Device device) const;
};

// The first chosen[q] chunks of order [Q, n], `most` of them; given[q] of them stay where they are, the
// others come newest first. `behind`: [Q, n], by chunk.
Attempts attempts_of(const Tensor& order, const Tensor& chosen, const Tensor& behind,
                     const std::vector<std::int64_t>& given, std::int64_t most);

}  // namespace mplus::train
