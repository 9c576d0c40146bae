#include "mplus/kernels/rope.h"

#include <cmath>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {

RopeTable::RopeTable(std::vector<float> inverse_frequencies) : frequencies_(std::move(inverse_frequencies)) {}

void RopeTable::reserve(std::int64_t positions) {
  if (positions <= positions_) return;
  table_.resize(static_cast<std::size_t>(positions * 2 * half()));
  for (std::int64_t position = positions_; position < positions; ++position) {
    float* row = table_.data() + position * 2 * half();
    for (std::int64_t i = 0; i < half(); ++i) {
      const float angle = static_cast<float>(position) * frequencies_[static_cast<std::size_t>(i)];
      row[i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      row[half() + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
  positions_ = positions;
}

void rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position) {
  MPLUS_CHECK(x.device == queue.device() && x.dtype == DType::f32 && x.dimensions == 2 &&
                  x.size(1) % (2 * angles.half()) == 0,
              "rope: rows of {} in heads of {}", x.size(1), 2 * angles.half());
  MPLUS_CHECK(first_position >= 0 && first_position + x.size(0) <= angles.positions(),
              "positions {} … {} of a table of {}", first_position, first_position + x.size(0),
              angles.positions());
  queue.backend().rope(queue, x, angles, first_position);
}

void rope(Queue& queue, float* x, std::int64_t T, std::int64_t heads, const RopeTable& angles,
          std::int64_t first_position, std::int64_t row_stride) {
  MPLUS_CHECK(first_position >= 0 && first_position + T <= angles.positions(),
              "positions {} … {} of a table of {}", first_position, first_position + T, angles.positions());
  const std::int64_t half = angles.half();
  const std::int64_t stride = row_stride == 0 ? heads * 2 * half : row_stride;
  parallel_ranges(queue, T, heads * half * 2, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) {
      const float* cos = angles.cos(first_position + t);
      const float* sin = angles.sin(first_position + t);
      for (std::int64_t h = 0; h < heads; ++h) {
        float* head = x + t * stride + h * 2 * half;
        table().rotate(head, head, cos, sin, half);
      }
    }
  });
}

}  // namespace mplus::kernels
