#include "mplus/kernels/attention/rope.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/rows.h"

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

void RopeTable::reserve(Queue& queue, std::int64_t positions) {
  if (queue.device().is_cpu()) return reserve(positions);
  if (positions <= copied_ && copy_.device() == queue.device()) return;
  reserve(std::max(positions, 2 * copied_));  // seldom copied again
  const ConstTensor all = on({});
  copy_ = queue.backend().allocate(row_bytes(DType::f32, all.elements()));
  copied_ = positions_;
  copy(queue, copy_.tensor(DType::f32, {positions_, 2, half()}), all);
}

ConstTensor RopeTable::on(const Device& device) const {
  if (device.is_cpu()) return {table_.data(), DType::f32, {positions_, 2, half()}};
  MPLUS_CHECK(copied_ > 0 && copy_.device() == device, "no rotary table on {}", device_name(device));
  return copy_.tensor(DType::f32, {copied_, 2, half()});
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

}  // namespace mplus::kernels
