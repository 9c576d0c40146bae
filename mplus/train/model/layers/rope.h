// Angles of the rotary positions. The layout is half-split ("rotate_half"): element i of a head turns with
// element i + e/2 (train/model/layers/fused.h). In float32, or in double where a pass computes in double.
#pragma once

#include <cstdint>

#include "mplus/io/config/model_config.h"
#include "mplus/train/torch.h"

namespace mplus::train {

torch::Dtype at_least_float(torch::Dtype dtype);  // float64 stays, everything else: float32

// cos and sin of the positions of a row list, [rows, e/2]. The angle is a float32 product, as in the
// reference implementation.
struct Rotation {
  Tensor cos, sin;
};

// Rotations of positions 0, 1, 2, …; grows as asked. One thread at a time.
class RopeTable {
 public:
  RopeTable(const io::ModelConfig& config, torch::Dtype compute, torch::Device device);
  Rotation rows(std::int64_t first_position, std::int64_t count);

 private:
  Tensor frequencies_;  // [e/2]
  torch::Dtype dtype_;  // of the table
  torch::Device device_;
  Rotation table_;
};

}  // namespace mplus::train
