// Chunks that each question reads in turn, as the engine does (ChunkRecall in memory/rules).
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/train/torch.h"

namespace mplus::train {

struct Turns {
  std::vector<std::vector<std::int64_t>> chunks;  // [Q]
  std::vector<std::vector<double>> behind;        // of each, in standard deviations; 0 of those given
  std::size_t most = 0;

  // The chunk of each question at this turn, its last one where it has fewer: [Q, 1].
  Tensor at(std::size_t turn, torch::Device device) const;
};

// The first chosen[q] chunks of order [Q, n], `most` of them; given[q] of them stay where they are, the
// others come newest first. `behind`: [Q, n], by chunk.
Turns turns_of(const Tensor& order, const Tensor& chosen, const Tensor& behind,
               const std::vector<std::int64_t>& given, std::int64_t most);

}  // namespace mplus::train
