// Host side of a launch: from an element type to a C++ type, and how many blocks.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mplus/core/numbers/dtype.h"
#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/launch.h"

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
// The blocks of a launch, so many of which along x are a cluster.
struct Grid : dim3 {
  using dim3::dim3;
  Grid(const dim3& blocks, unsigned cluster_blocks = 1) : dim3(blocks), cluster(cluster_blocks) {}
  unsigned cluster = 1;
};

// A launch that may begin before the stream's last kernel has ended (device.cuh, wait_for_last).
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Grid& grid, dim3 block, Stream stream,
            std::size_t shared_bytes, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {grid.cluster, 1, 1};
  config.attrs = attributes;
  config.numAttrs = grid.cluster > 1 ? 2 : 1;
  cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

// Of one block, of the current device.
inline std::size_t most_shared_bytes() {
  int device = 0, bytes = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return static_cast<std::size_t>(bytes);
}
// Multiprocessors of the current device.
inline int processors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}
// Before a launch that takes more shared memory than every device gives: asked for once on each.
template <auto kKernel>
void allow_shared(std::size_t size_bytes) {
  static std::atomic<std::uint64_t> allowed{0};
  int device = 0;
  cudaGetDevice(&device);
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((allowed.load(std::memory_order_relaxed) & bit) != 0) return;
  if (cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(size_bytes)) == cudaSuccess)
    allowed.fetch_or(bit, std::memory_order_relaxed);
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
