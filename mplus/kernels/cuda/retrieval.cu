// Scores of retriever keys. A warp holds 16 keys in registers; queries pass by in shared memory, 64 at a
// time, and their sigmoids are added up where they are made, so nothing of size [T, n] exists. Codes of small
// keys are whole numbers below 128: exact in bf16, and so are sums of their products in f32.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device.cuh"
#include "mplus/kernels/cuda/dispatch.cuh"
#include "mplus/kernels/cuda/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWarps = 8, kBlock = kWarps * kWarp, kKeys = 16, kQueries = 64;

std::int64_t whole_tiles(std::int64_t T) { return (T + kQueries - 1) / kQueries * kQueries; }

// Queries [whole tiles, width] as operands, then a scale for each.
struct Packed {
  bf16* q;
  float* scales;
};
Packed packed_in(void* memory, std::int64_t T, std::int64_t width) {
  auto* q = static_cast<bf16*>(memory);
  return {q, reinterpret_cast<float*>(q + whole_tiles(T) * width)};
}

// core/row_format.h and cpu/retrieval_i8.cpp: to the nearest, halves to even, within ±127.
__global__ void pack_kernel(Packed to, const float* q, std::int64_t T, std::int64_t width, bool codes) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t t = first_of_grid() / kWarp;
  float most = 0;
  for (std::int64_t i = lane; i < width && t < T; i += kWarp) most = fmaxf(most, fabsf(q[t * width + i]));
  const float scale = codes ? warp_max(most) / 127.0f : 1.0f;
  const float inverse = scale >= 0x1p-100f ? 1.0f / scale : 0.0f;
  for (std::int64_t i = lane; i < width; i += kWarp) {
    const float x = t < T ? q[t * width + i] : 0.0f;
    to.q[t * width + i] = __float2bfloat16_rn(codes ? rintf(fminf(fmaxf(x * inverse, -127.0f), 127.0f)) : x);
  }
  if (lane == 0) to.scales[t] = scale;
}

__device__ float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

// Eight elements of a key as operands.
template <class Key>
__device__ uint4 load_key(const void* keys, std::int64_t key, int width, int at) {
  if constexpr (sizeof(Key) == 2) {
    return load_once(static_cast<const bf16*>(keys) + key * width + at);
  } else {
    const auto* codes = static_cast<const std::int8_t*>(keys) + key * (width + 2) + at;
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const char2 two = *reinterpret_cast<const char2*>(codes + 2 * i);
      words[i] = pack<bf16>(static_cast<float>(two.x), static_cast<float>(two.y));
    }
    return {words[0], words[1], words[2], words[3]};
  }
}

template <class Key>
__device__ float key_scale(const void* keys, std::int64_t key, std::int64_t width) {
  if constexpr (sizeof(Key) == 2) return 1.0f;
  else
    return to_float(
        *reinterpret_cast<const bf16*>(static_cast<const std::int8_t*>(keys) + key * (width + 2) + width));
}

// 64 bytes between rows: lanes of eight neighbours in a load touch every bank once.
template <int D>
struct QueryTiles {
  static constexpr int kStride = D + 32;
  bf16 q[2][kQueries][kStride];
};

template <int D>
__device__ void copy_queries(bf16 (&to)[kQueries][QueryTiles<D>::kStride], const bf16* from) {
#pragma unroll
  for (int part = 0; part < kQueries * D / 8 / kBlock; ++part) {
    const int at = part * kBlock + static_cast<int>(threadIdx.x), row = at / (D / 8), i = at % (D / 8) * 8;
    copy_async(&to[row][i], from + row * D + i, true);
  }
  commit_copies();
}

template <int D>
struct Keys {
  uint4 low[D / 32], high[D / 32];
  float scales[2];
};

// The sigmoids of 64 queries, of which `count` are queries, with the warp's keys r and r + 8.
template <int D>
__device__ void add_tile(float (&sums)[2], const Keys<D>& keys,
                         const bf16 (&q)[kQueries][QueryTiles<D>::kStride], const float* scales, int count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, r = lane / 4, c = lane % 4;
#pragma unroll 2
  for (int n = 0; n < kQueries / 8; ++n) {
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
      if (t < count) sums[i / 2] += sigmoid(products[i] * (scales[t] * keys.scales[i / 2]));
    }
  }
}

template <class Key, int D>
__global__ void __launch_bounds__(kBlock) tensor_kernel(Retrieval job, Packed packed) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& tiles = *reinterpret_cast<QueryTiles<D>*>(shared);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kWarps + warp) * kKeys + lane / 4;
  copy_queries<D>(tiles.q[0], packed.q);
  const std::int64_t low = min(first, job.n - 1), high = min(first + 8, job.n - 1);
  Keys<D> keys;
#pragma unroll
  for (int s = 0; s < D / 32; ++s) {
    keys.low[s] = load_key<Key>(job.keys, low, D, 32 * s + 8 * (lane % 4));
    keys.high[s] = load_key<Key>(job.keys, high, D, 32 * s + 8 * (lane % 4));
  }
  keys.scales[0] = key_scale<Key>(job.keys, low, D);
  keys.scales[1] = key_scale<Key>(job.keys, high, D);
  float sums[2] = {};
  int stage = 0;
  for (std::int64_t t = 0; t < job.T; t += kQueries, stage ^= 1) {
    wait_copies<0>();
    __syncthreads();
    if (t + kQueries < job.T) copy_queries<D>(tiles.q[stage ^ 1], packed.q + (t + kQueries) * D);
    add_tile<D>(sums, keys, tiles.q[stage], packed.scales + t,
                static_cast<int>(min(static_cast<std::int64_t>(kQueries), job.T - t)));
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = sums[half];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    if (lane % 4 == 0 && first + 8 * half < job.n)
      job.scores[first + 8 * half] = sum / static_cast<float>(job.T);
  }
}

// In f32, a key a warp. Small keys meet rounded queries here too.
template <class Key>
__global__ void plain_kernel(Retrieval job, Packed packed) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t key = first_of_grid() / kWarp;
  if (key >= job.n) return;
  float total = 0;
  for (std::int64_t t = 0; t < job.T; ++t) {
    float sum = 0;
    for (std::int64_t i = lane; i < job.width; i += kWarp) {
      if constexpr (sizeof(Key) == 1)
        sum += to_float(packed.q[t * job.width + i]) *
               static_cast<float>(static_cast<const std::int8_t*>(job.keys)[key * (job.width + 2) + i]);
      else
        sum = fmaf(job.q[t * job.width + i], to_float(static_cast<const Key*>(job.keys)[key * job.width + i]),
                   sum);
    }
    sum = warp_sum(sum);
    if constexpr (sizeof(Key) == 1) {  // the scale may lie at an odd address
      const auto* scale = static_cast<const std::uint8_t*>(job.keys) + key * (job.width + 2) + job.width;
      sum *= packed.scales[t] * __uint_as_float((scale[0] | scale[1] << 8) << 16);
    }
    total += 1.0f / (1.0f + expf(-sum));
  }
  if (lane == 0) job.scores[key] = total / static_cast<float>(job.T);
}

template <class Key>
void score_plain(Stream stream, const Retrieval& job) {
  const auto blocks = static_cast<unsigned>((job.n + kThreads / kWarp - 1) / (kThreads / kWarp));
  plain_kernel<Key><<<blocks, kThreads, 0, stream>>>(job, packed_in(job.packed, job.T, job.width));
}

template <class Key, int D>
void score_tensor(Stream stream, const Retrieval& job) {
  const auto blocks = static_cast<unsigned>((job.n + kWarps * kKeys - 1) / (kWarps * kKeys));
  cudaFuncSetAttribute(tensor_kernel<Key, D>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       sizeof(QueryTiles<D>));
  tensor_kernel<Key, D>
      <<<blocks, kBlock, sizeof(QueryTiles<D>), stream>>>(job, packed_in(job.packed, job.T, job.width));
}

template <class Key>
void score(Stream stream, const Retrieval& job) {
  if (job.width == 64) return score_tensor<Key, 64>(stream, job);
  if (job.width == 128) return score_tensor<Key, 128>(stream, job);
  if (job.width == 256) return score_tensor<Key, 256>(stream, job);
  score_plain<Key>(stream, job);
}

}  // namespace

std::size_t packed_queries_bytes(std::int64_t T, std::int64_t width) {
  return static_cast<std::size_t>(whole_tiles(T)) *
         (static_cast<std::size_t>(width) * sizeof(bf16) + sizeof(float));
}

void pack_queries(Stream stream, const Retrieval& job) {
  const std::int64_t rows = whole_tiles(job.T);
  pack_kernel<<<static_cast<unsigned>(rows * kWarp / kThreads), kThreads, 0, stream>>>(
      packed_in(job.packed, job.T, job.width), job.q, job.T, job.width, job.dtype == DType::i8);
}

void retrieval_scores(Stream stream, const Retrieval& job) {
  if (job.n <= 0) return;
  if (job.dtype == DType::f32) return score_plain<float>(stream, job);
  if (job.dtype == DType::i8) return score<std::int8_t>(stream, job);
  if (job.exact) return score_plain<bf16>(stream, job);
  score<bf16>(stream, job);
}

}  // namespace mplus::kernels::cuda
