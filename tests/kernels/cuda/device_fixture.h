// Values on their way to the first CUDA device and back. Where there is none, a test fails: it is only run
// (label gpu) where one is meant to be.
#pragma once

#include <algorithm>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/transfer.h"
#include "tests/kernels/operands.h"

namespace mplus::kernels {

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

inline std::uint16_t half_bits(DType type, float x) {
  return type == DType::bf16 ? f32_to_bf16(x) : f32_to_f16(x);
}
inline float rounded(DType type, float x) {
  if (type == DType::f32) return x;
  return type == DType::bf16 ? bf16_to_f32(f32_to_bf16(x)) : f16_to_f32(f32_to_f16(x));
}

class DeviceTest : public testing::TestWithParam<Numerics> {
 protected:
  static constexpr Device kDevice{DeviceKind::cuda, 0};

  void SetUp() override { ASSERT_GT(cuda_devices(), 0) << "no CUDA device"; }

  Queue& queue() {
    if (!queue_) queue_ = std::make_unique<Queue>(pool_, GetParam(), kDevice);
    return *queue_;
  }
  bool exact() const { return GetParam() == Numerics::exact; }

  // Values there in a type; `values` become what they were rounded to.
  Tensor put(std::vector<float>& values, DType type, std::initializer_list<std::int64_t> shape) {
    const auto n = std::ssize(values);
    const Tensor there = room(type, {n});
    std::vector<std::uint16_t> halves;
    for (float& x : values) x = rounded(type, x);
    if (type == DType::f32) {
      copy(queue(), there, floats(values, {n}));
    } else {
      for (const float x : values) halves.push_back(half_bits(type, x));
      copy(queue(), there, ConstTensor(halves.data(), type, {n}));
    }
    return n == 0 ? Tensor(there.data, type, shape, kDevice) : there.as_shape(shape);
  }
  Tensor put(const std::vector<float>& values, std::initializer_list<std::int64_t> shape) {
    std::vector<float> same = values;
    return put(same, DType::f32, shape);
  }
  Tensor room(DType type, std::initializer_list<std::int64_t> shape) {
    const Tensor sized(nullptr, type, shape, kDevice);
    buffers_.push_back(
        queue().backend().allocate(std::max<std::size_t>(1, row_bytes(type, sized.elements()))));
    return buffers_.back().tensor(type, shape);
  }
  std::vector<float> back(const ConstTensor& x) { return to_host(queue(), x); }
  Matrix weights(std::vector<float>& values, DType type, std::int64_t rows, std::int64_t cols) {
    return {put(values, type, {rows, cols}).data, type, rows, cols, nullptr, kDevice};
  }
  void forget() {
    queue().wait();
    buffers_.clear();
  }

 private:
  ThreadPool pool_{4};
  std::unique_ptr<Queue> queue_;
  std::vector<Buffer> buffers_;
};

inline std::string numerics_of(const testing::TestParamInfo<Numerics>& info) {
  return info.param == Numerics::exact ? "exact" : "fast";
}
#define MPLUS_FOR_BOTH_NUMERICS(Suite) \
  INSTANTIATE_TEST_SUITE_P(Cuda, Suite, testing::Values(Numerics::exact, Numerics::fast), numerics_of)

// Half a unit in the last place of a 16-bit type, relative.
inline double half_epsilon(DType type) {
  return type == DType::bf16 ? 0x1p-9 : type == DType::f16 ? 0x1p-12 : 0.0;
}

}  // namespace mplus::kernels
