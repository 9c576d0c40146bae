// Rotary positions in the half-split ("rotate_half") layout: element i of a head turns with element i + e/2.
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// cos and sin of position * frequency. The angle is an f32 product, as in the reference implementation; its
// cosine and sine are rounded once, on the processor. Growing is for one thread; reading for any number.
class RopeTable {
 public:
  explicit RopeTable(std::vector<float> inverse_frequencies);  // e/2 of them
  void reserve(std::int64_t positions);                        // afterwards positions() ≥ positions
  // The same, and on the queue's device there are as many.
  void reserve(Queue& queue, std::int64_t positions);

  const float* cos(std::int64_t position) const { return row(position); }           // [half]
  const float* sin(std::int64_t position) const { return row(position) + half(); }  // [half]
  std::int64_t half() const { return static_cast<std::int64_t>(frequencies_.size()); }
  std::int64_t positions() const { return positions_; }
  // [positions on that device, 2, half]: cosines, then sines. Until the next reserve().
  ConstTensor on(const Device& device) const;

 private:
  const float* row(std::int64_t position) const { return table_.data() + position * 2 * half(); }

  std::vector<float> frequencies_;
  std::vector<float> table_;  // [positions, 2, half]
  std::int64_t positions_ = 0;
  Buffer copy_;  // on another device than the host's
  std::int64_t copied_ = 0;
};

// Rotates every head of x[T, heads*e] in place; row t stands at first_position + t. Rows may stand apart.
void rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position);

}  // namespace mplus::kernels
