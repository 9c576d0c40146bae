// Scores of retriever keys for many queries, by the matrix instruction of a warpgroup (warpgroup.cuh). A
// block has 128 keys, two warpgroups with 64 each; queries pass by, 128 at a time, brought by one thread.
// While one warpgroup makes sigmoids and adds them up, the other one has the matrix units.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/tensor_map.h"
#include "mplus/kernels/cuda/device/warpgroup.cuh"
#include "mplus/kernels/cuda/retrieval/retrieval.cuh"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWorkers = 2, kBlock = (1 + kWorkers) * kWarpgroup;
constexpr int kKeys = 128, kQueries = 128,
              kDepth = 64;  // of a block, of a tile, and elements of a row in shared memory

#ifdef MPLUS_WARPGROUPS

constexpr int kStages = 2, kWorkerKeys = kKeys / kWorkers;

template <int D>
struct Tiles {
  bf16 keys[kWorkers][D / kDepth][kWorkerKeys * kDepth];
  bf16 queries[kStages][D / kDepth][kQueries * kDepth];
  Barrier there[kStages], done[kStages];
};
using Products = float[kQueries / 8][4];

template <int D>
__device__ void bring_all(Tiles<D>& tiles, const CUtensorMap& queries, int layer, int turns) {
  for (int n = 0; n < turns; ++n) {
    const int stage = n % kStages;
    wait(tiles.done[stage], n / kStages % 2 ^ 1);
    arrive_expecting(tiles.there[stage], sizeof tiles.queries[stage]);
    for (int part = 0; part < D / kDepth; ++part)
      copy_box(tiles.queries[stage][part], queries, part * kDepth, n * kQueries, layer, tiles.there[stage]);
  }
}

// A worker's keys, in the order that matrix_at() means.
template <class Key, int D>
__device__ void place_keys(bf16 (&to)[D / kDepth][kWorkerKeys * kDepth], const KeyPart& part, int first) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
#pragma unroll 4
  for (int at = thread; at < kWorkerKeys * D / 8; at += kWarpgroup) {
    const int local = at / (D / 8), i = at % (D / 8) * 8, key = min(first + local, part.n - 1);
    const int place = local * kDepth + (i % kDepth / 8 ^ local % 8) * 8;
    *reinterpret_cast<uint4*>(&to[i / kDepth][place]) = load_key<Key>(part.keys, key, D, i);
  }
}

template <int D>
__device__ void start_products(Products& products, std::uint32_t keys, std::uint32_t queries) {
  constexpr int kGroupBytes = 8 * kDepth * sizeof(bf16);
  begin_products();
#pragma unroll
  for (int k = 0; k < D; k += 16) {
    const int part = k / kDepth, within = k % kDepth * static_cast<int>(sizeof(bf16));
    multiply(products, matrix_at(keys + part * kWorkerKeys * kDepth * sizeof(bf16) + within, kGroupBytes, 0),
             matrix_at(queries + part * kQueries * kDepth * sizeof(bf16) + within, kGroupBytes, 0), k > 0);
  }
  commit_products();
}

// exp(−x), as far as it matters to a sum of sigmoids.
__device__ float falling(float x) { return power_of_two(fminf(-1.4426950408889634f * x, 28.0f)); }

// Of two fractions, as one: sum / product.
struct Fraction {
  float sum, product;
};
__device__ Fraction both(float x, float y) {
  const float a = 1.0f + falling(x), b = 1.0f + falling(y);
  return {a + b, a * b};
}

// What a thread adds up: of its two keys, over a quarter of the queries.
struct Scores {
  float scales[2];  // of the keys
  float sums[2];
};

// Products of a tile's columns 8n to 8n + 15 with a thread's key `side`, scaled.
template <bool kScaled>
__device__ void load_four(float (&x)[4], const Products& products, int n, int side, const float4& scales) {
  const float factors[4] = {scales.x, scales.y, scales.z, scales.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = products[n + i / 2][2 * side + i % 2] * (kScaled ? factors[i] : 1.0f);
}

// Sigmoids of the first `count` of a tile's queries. Four are added as one fraction: dividing is what takes
// time.
template <bool kAll, bool kScaled>
__device__ void add_tile(Scores& scores, const Products& products, const float* query_scales, int count) {
  const int column = 2 * (static_cast<int>(threadIdx.x) % 4);
#pragma unroll
  for (int n = 0; n < kQueries / 8; n += 2) {
    float2 of_queries[2] = {};
    if constexpr (kScaled) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        if (kAll || 8 * (n + i) < count)
          of_queries[i] = *reinterpret_cast<const float2*>(query_scales + 8 * (n + i) + column);
    }
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float of_key = scores.scales[side];
      float x[4];
      load_four<kScaled>(x, products, n, side,
                         {of_queries[0].x * of_key, of_queries[0].y * of_key, of_queries[1].x * of_key,
                          of_queries[1].y * of_key});
      if constexpr (kAll) {
        const Fraction a = both(x[0], x[1]), b = both(x[2], x[3]);
        scores.sums[side] += __fdividef(fmaf(a.sum, b.product, b.sum * a.product), a.product * b.product);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (8 * (n + i / 2) + column + i % 2 < count)
            scores.sums[side] += __fdividef(1.0f, 1.0f + falling(x[i]));
      }
    }
  }
}

__device__ void release(Barrier& barrier) {
  if (threadIdx.x % kWarp == 0) arrive(barrier);
}

template <class Key, int D>
__device__ void work(Tiles<D>& tiles, const KeyPart& part, const WideRetrieval& job, int first) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup,
            worker = static_cast<int>(threadIdx.x) / kWarpgroup - 1;
  const int turns = (job.T + kQueries - 1) / kQueries, mine = first + worker * kWorkerKeys;
  place_keys<Key, D>(tiles.keys[worker], part, mine);
  show_stores();
  sync(1 + worker, kWarpgroup);
  const int row = mine + thread / kWarp * 16 + thread % kWarp / 4, last = part.n - 1;
  Scores scores{
      {key_scale<Key>(part.keys, min(row, last), D), key_scale<Key>(part.keys, min(row + 8, last), D)},
      {0, 0}};
  constexpr bool kScaled = sizeof(Key) == 1;
  const float* query_scales = job.scales + part.layer * job.rows;
  const std::uint32_t keys = shared_address(tiles.keys[worker]);
  Products products;
  for (int n = 0; n < turns; ++n) {
    wait(tiles.there[n % kStages], n / kStages % 2);
    start_products<D>(products, keys, shared_address(tiles.queries[n % kStages]));
    wait_products<0>();
    hold(products);
    release(tiles.done[n % kStages]);
    const int left = job.T - n * kQueries;
    const float* from = query_scales + n * kQueries;
    if (left >= kQueries) add_tile<true, kScaled>(scores, products, from, left);
    else add_tile<false, kScaled>(scores, products, from, left);
  }
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    float sum = scores.sums[side];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    if (thread % 4 == 0 && row + 8 * side < part.n)
      part.scores[row + 8 * side] = sum / static_cast<float>(job.T);
  }
}

#endif

template <int D>
constexpr std::size_t kTilesBytes = (kKeys + 2 * kQueries) * D * sizeof(bf16) + 2048;

// Grid: parts, blocks of keys.
template <class Key, int D>
__global__ void __launch_bounds__(kBlock, 1) wide_kernel(const __grid_constant__ WideRetrieval job) {
#ifdef MPLUS_WARPGROUPS
  constexpr int kFew = 24, kMany = 240;  // registers
  extern __shared__ unsigned char shared[];
  Tiles<D>& tiles = *reinterpret_cast<Tiles<D>*>(shared + (-shared_address(shared) & 1023));
  static_assert(sizeof(Tiles<D>) + 1024 <= kTilesBytes<D>);
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(tiles.there[s], 1);
      init(tiles.done[s], kWorkers * kWarpgroup / kWarp);
    }
    show_inits();
    prefetch(job.queries);
  }
  __syncthreads();
  begin_in_turn();
  const KeyPart part = job.parts[blockIdx.x];
  const int first = static_cast<int>(blockIdx.y) * kKeys;
  if (first >= part.n) return;
  if (threadIdx.x < kWarpgroup) {
    fewer_registers<kFew>();
    if (threadIdx.x == 0) bring_all<D>(tiles, job.queries, part.layer, (job.T + kQueries - 1) / kQueries);
  } else {
    more_registers<kMany>();
    work<Key, D>(tiles, part, job, first);
  }
#endif
}

template <class Key, int D>
void launch_wide(Stream stream, const WideRetrieval& job, const dim3& grid) {
  allow_shared<wide_kernel<Key, D>>(kTilesBytes<D>);
  launch(wide_kernel<Key, D>, grid, kBlock, stream, kTilesBytes<D>, job);
}

template <class Key>
void launch_width(Stream stream, const WideRetrieval& job, const dim3& grid, std::int64_t width) {
  if (width == 64) launch_wide<Key, 64>(stream, job, grid);
  if (width == 128) launch_wide<Key, 128>(stream, job, grid);
  if (width == 256) launch_wide<Key, 256>(stream, job, grid);
}

}  // namespace

bool score_wide(Stream stream, const Retrieval& job, const PackedQueries& packed) {
  WideRetrieval wide{
      .parts = job.parts, .scales = packed.scales, .rows = packed.rows, .T = static_cast<int>(job.T)};
  if (!describe_rows(wide.queries,
                     {packed.q, packed.rows, job.width, job.width, job.layers, packed.rows * job.width},
                     kQueries, kDepth))
    return false;
  const dim3 grid(static_cast<unsigned>(job.count), static_cast<unsigned>((job.most + kKeys - 1) / kKeys));
  if (job.dtype == DType::i8) launch_width<std::int8_t>(stream, wide, grid, job.width);
  else launch_width<bf16>(stream, wide, grid, job.width);
  return true;
}

}  // namespace mplus::kernels::cuda
