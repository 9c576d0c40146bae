// Random operands for the operation tests, and what the operations' laws need: a queue per instruction set,
// weights of every type with their exact values, bounds on rounding.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "mplus/core/numbers/float16.h"
#include "mplus/core/numbers/philox.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/core/thread_pool.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

inline constexpr double kEpsilon = 0x1p-24;  // half a unit in the last place of f32, relative

class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t bits() {
    const std::uint64_t at = next_++;
    const auto block =
        philox4x32({static_cast<std::uint32_t>(at / 4), 0, 0, 0},
                   {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    return block[at % 4];
  }
  // Uniform in (-size, size).
  float value(float size = 1.0f) { return size * (static_cast<float>(bits()) * 0x1p-31f - 1.0f); }
  std::vector<float> values(std::int64_t n, float size = 1.0f) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& x : v) x = value(size);
    return v;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

// Every test runs once for each instruction set this machine has.
class IsaTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_isa(GetParam()); }
  void TearDown() override { force_isa(runnable_isas().front()); }
};

inline std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const auto name : runnable_isas()) names.emplace_back(name);
  return names;
}
inline std::string isa_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}
#define MPLUS_FOR_EVERY_ISA(Suite) INSTANTIATE_TEST_SUITE_P(Isa, Suite, testing::ValuesIn(isas()), isa_of)

// A weight matrix [rows, cols] of any type, filled at random, with the exact f32 values it stands for.
struct Weights {
  std::vector<std::byte> bytes;
  std::vector<float> row_scales;
  std::vector<float> values;  // [rows, cols]
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  Matrix matrix() const {
    return {bytes.data(), dtype, rows, cols, row_scales.empty() ? nullptr : row_scales.data()};
  }
};
Weights random_weights(Random& random, DType dtype, std::int64_t rows, std::int64_t cols);

inline Tensor floats(std::vector<float>& x, std::initializer_list<std::int64_t> shape) {
  return {x.data(), DType::f32, shape};
}
inline ConstTensor floats(const std::vector<float>& x, std::initializer_list<std::int64_t> shape) {
  return {x.data(), DType::f32, shape};
}

inline bool same_bits(const float* a, const float* b, std::int64_t n) {
  return n == 0 || std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(float)) == 0;
}

}  // namespace mplus::kernels
