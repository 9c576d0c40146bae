// Host side of a launch: from an element type to a C++ type, and how many blocks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mplus/core/dtype.h"
#include "mplus/kernels/cuda/device.cuh"

namespace mplus::kernels::cuda {

inline constexpr int kThreads = 256;

// f(T()) with the C++ type of dtype; nothing for others, which callers have ruled out.
template <class F>
void with_half(DType dtype, const F& f) {
  if (dtype == DType::bf16) f(bf16());
  if (dtype == DType::f16) f(f16());
}
template <class F>
void with_float(DType dtype, const F& f) {
  if (dtype == DType::f32) f(float());
  with_half(dtype, f);
}
// Of kThreads each, for n elements; kernels stride over the grid where n is larger.
inline unsigned blocks_for(std::int64_t n) {
  constexpr std::int64_t kMost = 132 * 16;
  return static_cast<unsigned>(std::min(kMost, (n + kThreads - 1) / kThreads));
}

__device__ inline std::int64_t first_of_grid() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_size() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

}  // namespace mplus::kernels::cuda
