// Scores of retriever keys. A warp holds 16 keys in registers; queries pass by in shared memory, 64 at a
// time, and their sigmoids are added up where they are made, so nothing of size [T, n] exists. Codes of small
// keys are whole numbers below 128: exact in bf16, and so are sums of their products in f32.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/retrieval/retrieval.cuh"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWarps = 8, kBlock = kWarps * kWarp, kKeys = 16, kQueries = 64;
constexpr std::int64_t kBlockKeys = kWarps * kKeys;

std::int64_t whole_tiles(std::int64_t T) { return (T + kQueries - 1) / kQueries * kQueries; }

using Packed = PackedQueries;
Packed packed_in(const Retrieval& job) {
  auto* q = static_cast<bf16*>(job.packed);
  const std::int64_t rows = whole_tiles(job.T);
  return {q, reinterpret_cast<float*>(q + job.layers * rows * job.width), rows};
}

// core/numbers/row_format.h and cpu/retrieval/retrieval_i8.cpp: to the nearest, halves to even, within ±127.
// blockIdx.y is the layer.
__global__ void pack_kernel(Packed to, const float* const* queries, std::int64_t T, std::int64_t width,
                            bool codes) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t t = first_of_grid() / kWarp, row = blockIdx.y * to.rows + t;
  const float* q = queries[blockIdx.y];
  float most = 0;
  for (std::int64_t i = lane; i < width && t < T; i += kWarp) most = fmaxf(most, fabsf(q[t * width + i]));
  const float scale = codes ? warp_max(most) / 127.0f : 1.0f;
  const float inverse = scale >= 0x1p-100f ? 1.0f / scale : 0.0f;
  for (std::int64_t i = lane; i < width; i += kWarp) {
    const float x = t < T ? q[t * width + i] : 0.0f;
    to.q[row * width + i] =
        __float2bfloat16_rn(codes ? rintf(fminf(fmaxf(x * inverse, -127.0f), 127.0f)) : x);
  }
  if (lane == 0) to.scales[row] = scale;
}

__device__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

// 64 bytes between rows: lanes of eight neighbours in a load touch every bank once.
template <int D>
struct QueryTiles {
  static constexpr int kStride = D + 32;
  bf16 q[2][kQueries][kStride];
};

// Of the next 64 queries those that are there, in whole eights.
template <int D>
__device__ void copy_queries(bf16 (&to)[kQueries][QueryTiles<D>::kStride], const bf16* from,
                             std::int64_t left) {
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(kQueries), (left + 7) / 8 * 8));
  for (int at = static_cast<int>(threadIdx.x); at < rows * (D / 8); at += kBlock) {
    const int row = at / (D / 8), i = at % (D / 8) * 8;
    copy_async(&to[row][i], from + row * D + i, true);
  }
  commit_copies();
}

template <int D>
struct Keys {
  uint4 low[D / 32], high[D / 32];
  float scales[2];
};

// The sigmoids of eight queries, of which `count` are queries, with the warp's keys r and r + 8.
template <int D, bool kAll>
__device__ void add_eight(float (&sums)[2], const Keys<D>& keys,
                          const bf16 (&q)[kQueries][QueryTiles<D>::kStride], const float* scales, int n,
                          int count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, r = lane / 4, c = lane % 4;
  float products[4] = {};
#pragma unroll
  for (int s = 0; s < D / 32; ++s) {
    const uint4 b = *reinterpret_cast<const uint4*>(&q[8 * n + r][32 * s + 8 * c]);
    const std::uint32_t first[4] = {keys.low[s].x, keys.high[s].x, keys.low[s].y, keys.high[s].y};
    const std::uint32_t second[4] = {keys.low[s].z, keys.high[s].z, keys.low[s].w, keys.high[s].w};
    mma<bf16>(products, first, b.x, b.y);
    mma<bf16>(products, second, b.z, b.w);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int t = 8 * n + 2 * c + i % 2;
    if (kAll || t < count) sums[i / 2] += sigmoid(products[i] * (scales[t] * keys.scales[i / 2]));
  }
}

// Of 64 queries, of which `count` are queries.
template <int D>
__device__ void add_tile(float (&sums)[2], const Keys<D>& keys,
                         const bf16 (&q)[kQueries][QueryTiles<D>::kStride], const float* scales, int count) {
  const int whole = count / 8;
  int n = 0;
  for (; n + 1 < whole; n += 2) {  // two at a time: one multiplies while the other's sigmoids are made
    add_eight<D, true>(sums, keys, q, scales, n, count);
    add_eight<D, true>(sums, keys, q, scales, n + 1, count);
  }
  for (; 8 * n < count; ++n) add_eight<D, false>(sums, keys, q, scales, n, count);
}

template <class Key, int D>
__device__ void load_keys(Keys<D>& keys, const KeyPart& part, std::int64_t first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t last = part.n - 1, low = min(first, last), high = min(first + 8, last);
#pragma unroll
  for (int s = 0; s < D / 32; ++s) {
    keys.low[s] = load_key<Key>(part.keys, low, D, 32 * s + 8 * (lane % 4));
    keys.high[s] = load_key<Key>(part.keys, high, D, 32 * s + 8 * (lane % 4));
  }
  keys.scales[0] = key_scale<Key>(part.keys, low, D);
  keys.scales[1] = key_scale<Key>(part.keys, high, D);
}

// Grid: parts, turns. A block takes 128 keys of a part in every turn that it has.
template <class Key, int D>
__global__ void __launch_bounds__(kBlock) tensor_kernel(Retrieval job, Packed packed) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& tiles = *reinterpret_cast<QueryTiles<D>*>(shared);
  const KeyPart part = job.parts[blockIdx.x];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const bf16* q = packed.q + part.layer * packed.rows * D;
  const float* scales = packed.scales + part.layer * packed.rows;
  for (std::int64_t begin = blockIdx.y * kBlockKeys; begin < part.n; begin += gridDim.y * kBlockKeys) {
    const std::int64_t first = begin + warp * kKeys + lane / 4;
    if (begin == blockIdx.y * kBlockKeys || job.T > kQueries) {  // few queries stay where they are
      __syncthreads();
      copy_queries<D>(tiles.q[0], q, job.T);
    }
    Keys<D> keys;
    load_keys<Key, D>(keys, part, first);
    float sums[2] = {};
    int stage = 0;
    for (std::int64_t t = 0; t < job.T; t += kQueries, stage ^= 1) {
      wait_copies<0>();
      __syncthreads();
      if (t + kQueries < job.T)
        copy_queries<D>(tiles.q[stage ^ 1], q + (t + kQueries) * D, job.T - t - kQueries);
      add_tile<D>(sums, keys, tiles.q[stage], scales + t,
                  static_cast<int>(min(static_cast<std::int64_t>(kQueries), job.T - t)));
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sums[half];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      sum += __shfl_xor_sync(kAllLanes, sum, 2);
      if (lane % 4 == 0 && first + 8 * half < part.n)
        part.scores[first + 8 * half] = sum / static_cast<float>(job.T);
    }
  }
}

// In f32, a key a warp. Small keys meet rounded queries here too.
template <class Key>
__device__ float plain_score(const Retrieval& job, const Packed& packed, const KeyPart& part,
                             std::int64_t key) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const float* q = job.q[part.layer];
  const std::int64_t row = part.layer * packed.rows;
  float total = 0;
  for (std::int64_t t = 0; t < job.T; ++t) {
    float sum = 0;
    for (std::int64_t i = lane; i < job.width; i += kWarp) {
      if constexpr (sizeof(Key) == 1)
        sum += to_float(packed.q[(row + t) * job.width + i]) *
               static_cast<float>(static_cast<const std::int8_t*>(part.keys)[key * (job.width + 2) + i]);
      else
        sum = fmaf(q[t * job.width + i], to_float(static_cast<const Key*>(part.keys)[key * job.width + i]),
                   sum);
    }
    sum = warp_sum(sum);
    if constexpr (sizeof(Key) == 1) {  // the scale may lie at an odd address
      const auto* scale = static_cast<const std::uint8_t*>(part.keys) + key * (job.width + 2) + job.width;
      sum *= packed.scales[row + t] * __uint_as_float((scale[0] | scale[1] << 8) << 16);
    }
    total += 1.0f / (1.0f + expf(-sum));
  }
  return total / static_cast<float>(job.T);
}

template <class Key>
__global__ void plain_kernel(Retrieval job, Packed packed) {
  constexpr std::int64_t kWarpsOfBlock = kThreads / kWarp;
  const KeyPart part = job.parts[blockIdx.x];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (std::int64_t key = blockIdx.y * kWarpsOfBlock + warp; key < part.n; key += gridDim.y * kWarpsOfBlock) {
    const float score = plain_score<Key>(job, packed, part, key);
    if (lane == 0) part.scores[key] = score;
  }
}

// Blocks along the largest part: so many that each has `turns` of `keys` keys.
dim3 grid_of(const Retrieval& job, std::int64_t keys, std::int64_t turns) {
  constexpr std::int64_t kMost = 65535;
  const std::int64_t blocks = (job.most + keys * turns - 1) / (keys * turns);
  return {static_cast<unsigned>(job.count), static_cast<unsigned>(std::min(kMost, blocks))};
}

template <class Key>
void score_plain(Stream stream, const Retrieval& job) {
  plain_kernel<Key><<<grid_of(job, kThreads / kWarp, 1), kThreads, 0, stream>>>(job, packed_in(job));
}

template <class Key, int D>
void score_tensor(Stream stream, const Retrieval& job) {
  constexpr std::int64_t kTurns = 4;  // where queries stay
  allow_shared<tensor_kernel<Key, D>>(sizeof(QueryTiles<D>));
  tensor_kernel<Key, D>
      <<<grid_of(job, kBlockKeys, job.T > kQueries ? 1 : kTurns), kBlock, sizeof(QueryTiles<D>), stream>>>(
          job, packed_in(job));
}

template <class Key>
void score(Stream stream, const Retrieval& job) {
  const bool wide =
      job.T > kQueries && has_warpgroups() && (job.width == 64 || job.width == 128 || job.width == 256);
  if (wide && score_wide(stream, job, packed_in(job))) return;
  if (job.width == 64) return score_tensor<Key, 64>(stream, job);
  if (job.width == 128) return score_tensor<Key, 128>(stream, job);
  if (job.width == 256) return score_tensor<Key, 256>(stream, job);
  score_plain<Key>(stream, job);
}

}  // namespace

std::size_t packed_queries_bytes(std::int64_t layers, std::int64_t T, std::int64_t width) {
  return static_cast<std::size_t>(layers * whole_tiles(T)) *
         (static_cast<std::size_t>(width) * sizeof(bf16) + sizeof(float));
}

void pack_queries(Stream stream, const Retrieval& job) {
  const dim3 grid(static_cast<unsigned>(whole_tiles(job.T) * kWarp / kThreads),
                  static_cast<unsigned>(job.layers));
  pack_kernel<<<grid, kThreads, 0, stream>>>(packed_in(job), job.q, job.T, job.width, job.dtype == DType::i8);
}

void retrieval_scores(Stream stream, const Retrieval& job) {
  if (job.count <= 0 || job.most <= 0) return;
  if (job.dtype == DType::f32) return score_plain<float>(stream, job);
  if (job.dtype == DType::i8) return score<std::int8_t>(stream, job);
  if (job.exact) return score_plain<bf16>(stream, job);
  score<bf16>(stream, job);
}

}  // namespace mplus::kernels::cuda
