// Attention in f32: the exact numerics, and heads that the matrix instruction's kernels do not take. A query
// of a head is a warp's; its lanes are keys while scores are made and elements while values are added.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWarps = 4, kMostParts = kMostHeadSize / kWarp;

template <class Stored>
__device__ const Stored* group_rows(const void* rows, const Cache& cache, std::int64_t group) {
  return static_cast<const Stored*>(rows) + group * cache.group_stride;
}

template <class Stored>
__device__ float dot(const float* query, const Stored* key, int e) {
  float sum = 0;
  for (int i = 0; i < e; ++i) sum = fmaf(query[i], to_float(key[i]), sum);
  return sum;
}

template <class Stored>
__global__ void __launch_bounds__(kWarps* kWarp) plain_kernel(const __grid_constant__ AttendItems items) {
  __shared__ float queries[kWarps][kMostHeadSize];
  const AttendItem& item = items.list[blockIdx.y];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int e = static_cast<int>(items.shape.head_size), heads = static_cast<int>(items.shape.heads);
  const std::int64_t pair = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
  const std::int64_t t = pair / heads, h = pair % heads, seen = item.cache.rows - item.T + 1 + t;
  if (t >= item.T) return;
  float* query = queries[warp];
  for (int i = lane; i < e; i += kWarp) query[i] = item.q[pair * e + i];
  __syncwarp();
  const std::int64_t group = h / (heads / items.shape.groups);
  const Stored* keys = group_rows<Stored>(item.cache.keys, item.cache, group);
  const Stored* values = group_rows<Stored>(item.cache.values, item.cache, group);
  const float scale = 1.0f / sqrtf(static_cast<float>(e));
  float most = -INFINITY, total = 0, sums[kMostParts] = {};
  for (std::int64_t first = 0; first < seen; first += kWarp) {
    const bool inside = first + lane < seen;
    const float score = inside ? dot(query, keys + (first + lane) * e, e) * scale : -INFINITY;
    const float larger = fmaxf(most, warp_max(score)), shrink = expf(most - larger);
    const float weight = inside ? expf(score - larger) : 0.0f;
    most = larger;
    total = total * shrink + warp_sum(weight);
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) sums[part] *= shrink;
    const int count = static_cast<int>(min(static_cast<std::int64_t>(kWarp), seen - first));
    for (int j = 0; j < count; ++j) {
      const float share = __shfl_sync(kAllLanes, weight, j);
      const Stored* value = values + (first + j) * e;
#pragma unroll
      for (int part = 0; part < kMostParts; ++part)
        if (const int i = part * kWarp + lane; i < e)
          sums[part] = fmaf(share, to_float(value[i]), sums[part]);
    }
  }
#pragma unroll
  for (int part = 0; part < kMostParts; ++part)
    if (const int i = part * kWarp + lane; i < e) item.out[pair * e + i] = sums[part] / total;
}

template <class Stored>
__global__ void weights_kernel(AttendItem item, Shape shape) {
  __shared__ float shared[kWarp];
  const std::int64_t t = blockIdx.x, h = blockIdx.y, rows = item.cache.rows, seen = rows - item.T + 1 + t;
  const int e = static_cast<int>(shape.head_size);
  const Stored* keys = group_rows<Stored>(item.cache.keys, item.cache, h / (shape.heads / shape.groups));
  float* out = item.out + (h * item.T + t) * rows;
  const float scale = 1.0f / sqrtf(static_cast<float>(e));
  float most = -INFINITY, total = 0;
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) {
    out[j] = dot(item.q + (t * shape.heads + h) * e, keys + j * e, e) * scale;
    most = fmaxf(most, out[j]);
  }
  most = block_max(most, shared);
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) total += out[j] = expf(out[j] - most);
  total = block_sum(total, shared);
  for (std::int64_t j = threadIdx.x; j < rows; j += blockDim.x) out[j] = j < seen ? out[j] / total : 0.0f;
}

}  // namespace

void attend_plain(Stream stream, const AttendItems& items) {
  std::int64_t pairs = 0;
  for (int i = 0; i < items.count; ++i) pairs = std::max(pairs, items.list[i].T * items.shape.heads);
  if (pairs == 0) return;
  const dim3 grid(static_cast<unsigned>((pairs + kWarps - 1) / kWarps), static_cast<unsigned>(items.count));
  with_float(items.list[0].cache.dtype,
             [&]<class Stored>(Stored) { plain_kernel<Stored><<<grid, kWarps * kWarp, 0, stream>>>(items); });
}

void attention_weights(Stream stream, const AttendItem& item, const Shape& shape) {
  if (item.T <= 0) return;
  const dim3 grid(static_cast<unsigned>(item.T), static_cast<unsigned>(shape.heads));
  with_float(item.cache.dtype, [&]<class Stored>(Stored) {
    weights_kernel<Stored><<<grid, kThreads, 0, stream>>>(item, shape);
  });
}

}  // namespace mplus::kernels::cuda
