// Scores of rows reduced to chunks. Sums of whole numbers may be made in any order: rows are added where they
// are met. Where only the best rows of a chunk count, scores are first put together by chunk; then a warp
// looks for the least of a chunk's best by halving, bit by bit.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/retrieval/score_units.h"

namespace mplus::kernels::cuda {
namespace {

__device__ void add(std::int64_t* to, std::int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

__device__ std::int64_t units_of(float score) {  // score_units
  return fabsf(score) < kLargestScore ? static_cast<std::int64_t>(__float2ll_rz(score * kScoreUnits)) : 0;
}

// The row's chunk, job.chunks where it is of none that is asked for, −1 where the row does not count.
__device__ std::int64_t chunk_of(const ChunkReduction& job, const ScoredPart& part, std::int64_t row) {
  const std::int64_t birth = part.births[row];
  const bool there =
      birth != kNoBirth && (birth > part.oldest_birth ||
                            (birth == part.oldest_birth && part.first_number + row >= part.oldest_number));
  if (!there || isnan(part.scores[row])) return -1;
  const std::int64_t chunk = birth / job.K;
  return birth >= 0 && chunk < job.chunks ? chunk : job.chunks;
}

__global__ void clear_kernel(ChunkReduction job) {
  const ChunkTotals& layer = job.totals[blockIdx.y];
  for (std::int64_t i = first_of_grid(); i <= job.chunks; i += grid_size()) {
    if (i < job.chunks) layer.sums[i] = 0;
    layer.rows[i] = 0;
  }
}

// Grid: parts, pieces of them.
__global__ void count_kernel(ChunkReduction job) {
  const ScoredPart part = job.parts[blockIdx.x];
  const ChunkTotals& layer = job.totals[part.layer];
  for (std::int64_t row = blockIdx.y * kThreads + threadIdx.x; row < part.n; row += gridDim.y * kThreads) {
    const std::int64_t chunk = chunk_of(job, part, row);
    if (chunk < 0) {
      part.scores[row] = NAN;
      continue;
    }
    if (chunk == job.chunks) {  // one sum for all: a warp's together
      const unsigned lanes = __activemask();
      if (static_cast<int>(threadIdx.x) % kWarp == __ffs(static_cast<int>(lanes)) - 1)
        add(&layer.rows[chunk], __popc(lanes));
      continue;
    }
    add(&layer.rows[chunk], 1);
    if (job.top == 0) add(&layer.sums[chunk], units_of(part.scores[row]));
  }
}

// Where each chunk's scores begin, among those of its layer: a block a layer.
__global__ void begin_kernel(ChunkReduction job) {
  __shared__ std::int64_t shared[kThreads];
  const std::int64_t* rows = job.totals[blockIdx.x].rows;
  std::int64_t* begins = job.ends + blockIdx.x * job.chunks;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t share = (job.chunks + kThreads - 1) / kThreads, first = min(job.chunks, thread * share),
                     last = min(job.chunks, first + share);
  std::int64_t mine = 0;
  for (std::int64_t c = first; c < last; ++c) mine += rows[c];
  shared[thread] = mine;
  __syncthreads();
  std::int64_t at = job.layer_begin[blockIdx.x];
  for (int t = 0; t < thread; ++t) at += shared[t];
  for (std::int64_t c = first; c < last; ++c) {
    begins[c] = at;
    at += rows[c];
  }
}

// Every begin becomes an end.
__global__ void group_kernel(ChunkReduction job) {
  const ScoredPart part = job.parts[blockIdx.x];
  std::int64_t* ends = job.ends + part.layer * job.chunks;
  for (std::int64_t row = blockIdx.y * kThreads + threadIdx.x; row < part.n; row += gridDim.y * kThreads) {
    const std::int64_t chunk = chunk_of(job, part, row);
    if (chunk < 0 || chunk >= job.chunks) continue;
    const auto place = atomicAdd(reinterpret_cast<unsigned long long*>(&ends[chunk]), 1ull);
    job.grouped[place] = part.scores[row];
  }
}

__device__ std::int64_t warp_total(std::int64_t x) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

// How many of the scores have at least so many units.
__device__ std::int64_t count_of(const float* scores, std::int64_t n, std::int64_t least) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::int64_t count = 0;
  for (std::int64_t i = lane; i < n; i += kWarp) count += units_of(scores[i]) >= least ? 1 : 0;
  return warp_total(count);
}

// A warp a chunk; blockIdx.y is the layer.
__global__ void best_kernel(ChunkReduction job) {
  constexpr int kBits = 61;  // |units| < 2⁶⁰
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t chunk = first_of_grid() / kWarp;
  if (chunk >= job.chunks) return;
  const ChunkTotals& layer = job.totals[blockIdx.y];
  const std::int64_t n = layer.rows[chunk], wanted = min(n, job.top);
  const float* scores = job.grouped + job.ends[blockIdx.y * job.chunks + chunk] - n;
  // The largest number that `wanted` scores reach.
  std::int64_t least = -(std::int64_t{1} << (kBits - 1));
  for (int bit = kBits - 1; bit >= 0 && wanted < n; --bit)
    if (const std::int64_t more = least + (std::int64_t{1} << bit); count_of(scores, n, more) >= wanted)
      least = more;
  std::int64_t sum = 0, above = 0;
  for (std::int64_t i = lane; i < n; i += kWarp) {
    const std::int64_t units = units_of(scores[i]);
    if (wanted < n && units <= least) continue;
    sum += units;
    ++above;
  }
  sum = warp_total(sum);
  above = warp_total(above);
  __syncwarp();
  if (lane != 0) return;
  layer.sums[chunk] = wanted < n ? sum + (wanted - above) * least : sum;
  layer.rows[chunk] = wanted;
}

}  // namespace

void chunk_sums(Stream stream, const ChunkReduction& job) {
  constexpr std::int64_t kMost = 65535;
  if (job.layers <= 0) return;
  const auto layers = static_cast<unsigned>(job.layers);
  clear_kernel<<<dim3(blocks_for(job.chunks + 1), layers), kThreads, 0, stream>>>(job);
  if (job.count <= 0) return;
  const dim3 rows(static_cast<unsigned>(job.count),
                  static_cast<unsigned>(std::min(kMost, (job.most + kThreads - 1) / kThreads)));
  count_kernel<<<rows, kThreads, 0, stream>>>(job);
  if (job.top == 0 || job.chunks == 0) return;
  begin_kernel<<<layers, kThreads, 0, stream>>>(job);
  group_kernel<<<rows, kThreads, 0, stream>>>(job);
  const auto blocks = static_cast<unsigned>((job.chunks * kWarp + kThreads - 1) / kThreads);
  best_kernel<<<dim3(blocks, layers), kThreads, 0, stream>>>(job);
}

}  // namespace mplus::kernels::cuda
