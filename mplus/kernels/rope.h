// Rotary positions in the half-split ("rotate_half") layout: element i of a head turns with element i + e/2.
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/core/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// cos and sin of position * frequency. The angle is an f32 product, as in the reference implementation; its
// cosine and sine are rounded once. Growing is for one thread; reading for any number.
class RopeTable {
 public:
  explicit RopeTable(std::vector<float> inverse_frequencies);  // e/2 of them
  void reserve(std::int64_t positions);                        // afterwards positions() ≥ positions

  const float* cos(std::int64_t position) const { return row(position); }           // [half]
  const float* sin(std::int64_t position) const { return row(position) + half(); }  // [half]
  std::int64_t half() const { return static_cast<std::int64_t>(frequencies_.size()); }
  std::int64_t positions() const { return positions_; }

 private:
  const float* row(std::int64_t position) const { return table_.data() + position * 2 * half(); }

  std::vector<float> frequencies_;
  std::vector<float> table_;  // [positions, 2, half]
  std::int64_t positions_ = 0;
};

// Turns every head of x[T, heads*e] in place; row t stands at first_position + t. Rows may stand apart.
void rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position);

// The processor's half. Rows are row_stride floats apart (0 means heads*e).
void rope(Queue& queue, float* x, std::int64_t T, std::int64_t heads, const RopeTable& angles,
          std::int64_t first_position, std::int64_t row_stride = 0);

}  // namespace mplus::kernels
