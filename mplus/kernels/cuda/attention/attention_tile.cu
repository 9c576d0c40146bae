// Attention of many queries: 64 or 128 rows (attention.cuh) of a group against 64 keys at a time, scores and
// sums in registers, keys and values copied into shared memory while the last ones are computed with. A warp
// has kHalves times 16 rows: with 32, what it reads of shared memory serves two matrix instructions.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/attention/attention.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWarps = 4, kBlock = kWarps * kWarp;
constexpr int kNarrow = kKeysTile / 8;  // columns of 8 keys

// Rows are 16 bytes longer than they need to be: eight of them one below the other lie in different banks.
template <int E, int kHalves>
struct Tiles {
  static constexpr int kStride = E + 8;
  static constexpr int kRows = kWarps * 16 * kHalves;
  bf16 q[kRows][kStride];
  bf16 keys[2][kKeysTile][kStride];
  bf16 values[2][kKeysTile][kStride];
};

template <int E, int kHalves>
struct Running {
  float most[kHalves][2], total[kHalves][2];
  float sums[kHalves][E / 8][4];
};

// What a block works on.
struct Unit {
  const AttendItem* item;
  AttendPlan plan;
  int group, tile, split, sharing;
  int begin, end;  // of the cache's rows, as far as any row of the tile sees
};

__device__ int query_of(const Unit& unit, int local) {
  return min(unit.tile * unit.plan.height + local, unit.plan.rows - 1) / unit.sharing;
}
// The first row of the cache that a row of the tile may not see.
__device__ int limit_of(const Unit& unit, int local) {
  return static_cast<int>(unit.item->cache.rows - unit.item->T) + 1 + query_of(unit, local);
}

template <int E, int kHalves>
__device__ void load_queries(Tiles<E, kHalves>& tiles, const Unit& unit, std::int64_t heads) {
  const float scale = score_scale(E);
  for (int at = static_cast<int>(threadIdx.x); at < Tiles<E, kHalves>::kRows * E / 4; at += kBlock) {
    const int local = at / (E / 4), i = at % (E / 4) * 4, row = unit.tile * unit.plan.height + local;
    uint2 packed{};
    if (row < unit.plan.rows) {
      const std::int64_t head = static_cast<std::int64_t>(row / unit.sharing) * heads +
                                unit.group * unit.sharing + row % unit.sharing;
      const float4 x = *reinterpret_cast<const float4*>(unit.item->q + head * E + i);
      packed = {pack<bf16>(x.x * scale, x.y * scale), pack<bf16>(x.z * scale, x.w * scale)};
    }
    *reinterpret_cast<uint2*>(&tiles.q[local][i]) = packed;
  }
}

// kKeysTile rows of the cache from `first` on, zeros behind its end.
template <int E>
__device__ void copy_tile(bf16 (&to)[kKeysTile][E + 8], const void* from, const Unit& unit, int first) {
  const bf16* rows = static_cast<const bf16*>(from) + unit.group * unit.item->cache.group_stride;
  const int last = static_cast<int>(unit.item->cache.rows) - 1;
#pragma unroll
  for (int part = 0; part < kKeysTile * E / 8 / kBlock; ++part) {
    const int at = part * kBlock + static_cast<int>(threadIdx.x), row = at / (E / 8), i = at % (E / 8) * 8;
    copy_async(&to[row][i], rows + static_cast<std::int64_t>(min(first + row, last)) * E + i,
               first + row <= last);
  }
}

template <int E, int kHalves>
__device__ void make_scores(float (&scores)[kHalves][kNarrow][4], const Tiles<E, kHalves>& tiles,
                            const bf16 (&keys)[kKeysTile][E + 8]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int matrix = lane / 8, line = lane % 8;
#pragma unroll
  for (int k = 0; k < E; k += 16) {
    std::uint32_t a[kHalves][4];
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
      load_matrices(a[half],
                    &tiles.q[(warp * kHalves + half) * 16 + matrix % 2 * 8 + line][k + matrix / 2 * 8]);
#pragma unroll
    for (int n = 0; n < kNarrow; n += 2) {
      std::uint32_t b[4];
      load_matrices(b, &keys[n * 8 + matrix / 2 * 8 + line][k + matrix % 2 * 8]);
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        mma<bf16>(scores[half][n], a[half], b[0], b[1]);
        mma<bf16>(scores[half][n + 1], a[half], b[2], b[3]);
      }
    }
  }
}

// Keys from `first` on that a row may not see count nothing.
template <int kHalves>
__device__ void mask(float (&scores)[kHalves][kNarrow][4], const Unit& unit, int first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  if (first + kKeysTile <= limit_of(unit, 0)) return;
#pragma unroll
  for (int half = 0; half < kHalves; ++half)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int limit = limit_of(unit, (warp * kHalves + half) * 16 + i / 2 * 8 + lane / 4);
#pragma unroll
      for (int n = 0; n < kNarrow; ++n)
        if (first + 8 * n + 2 * (lane % 4) + i % 2 >= limit) scores[half][n][i] = -INFINITY;
    }
}

template <int E, int kHalves>
__device__ void weigh(Running<E, kHalves>& running, float (&scores)[kHalves][kNarrow][4]) {
#pragma unroll
  for (int half = 0; half < kHalves; ++half)
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float most = running.most[half][side];
#pragma unroll
      for (int n = 0; n < kNarrow; ++n)
        most = fmaxf(most, fmaxf(scores[half][n][2 * side], scores[half][n][2 * side + 1]));
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
      most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
      const float shrink = weight_of(running.most[half][side], most);
      const float zero = most == -INFINITY ? 0.0f : most;
      float total = 0;
#pragma unroll
      for (int n = 0; n < kNarrow; ++n)
#pragma unroll
        for (int i = 2 * side; i < 2 * side + 2; ++i)
          total += scores[half][n][i] = power_of_two(scores[half][n][i] - zero);
      running.most[half][side] = most;
      running.total[half][side] = running.total[half][side] * shrink + total;
#pragma unroll
      for (int n = 0; n < E / 8; ++n) {
        running.sums[half][n][2 * side] *= shrink;
        running.sums[half][n][2 * side + 1] *= shrink;
      }
    }
}

template <int E, int kHalves>
__device__ void add_values(Running<E, kHalves>& running, const float (&weights)[kHalves][kNarrow][4],
                           const bf16 (&values)[kKeysTile][E + 8]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, matrix = lane / 8, line = lane % 8;
#pragma unroll
  for (int k = 0; k < kKeysTile / 16; ++k) {
    std::uint32_t a[kHalves][4];
#pragma unroll
    for (int half = 0; half < kHalves; ++half)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&w)[4] = weights[half][2 * k + i / 2];
        a[half][i] = pack<bf16>(w[i % 2 * 2], w[i % 2 * 2 + 1]);
      }
#pragma unroll
    for (int n = 0; n < E / 8; n += 2) {
      std::uint32_t b[4];
      load_matrices_turned(b, &values[k * 16 + matrix % 2 * 8 + line][n * 8 + matrix / 2 * 8]);
#pragma unroll
      for (int half = 0; half < kHalves; ++half) {
        mma<bf16>(running.sums[half][n], a[half], b[0], b[1]);
        mma<bf16>(running.sums[half][n + 1], a[half], b[2], b[3]);
      }
    }
  }
}

// One row's share of the result: to the output where it is whole, otherwise to the unit's partial results.
template <int E, int kHalves>
__device__ void finish(Running<E, kHalves>& running, const Unit& unit, std::int64_t heads) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  float* partial =
      unit.item->partial + unit.plan.unit(unit.group, unit.tile, unit.split) * unit_floats(unit.plan, E);
#pragma unroll
  for (int half = 0; half < kHalves; ++half)
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float total = running.total[half][side];
      total += __shfl_xor_sync(kAllLanes, total, 1);
      total += __shfl_xor_sync(kAllLanes, total, 2);
      const int local = (warp * kHalves + half) * 16 + side * 8 + lane / 4,
                row = unit.tile * unit.plan.height + local;
      if (row >= unit.plan.rows) continue;
      const bool whole = unit.plan.splits == 1;
      const std::int64_t head = static_cast<std::int64_t>(row / unit.sharing) * heads +
                                unit.group * unit.sharing + row % unit.sharing;
      float* to = (whole ? unit.item->out + head * E : partial + local * E) + 2 * (lane % 4);
      const float scale = whole ? 1.0f / total : 1.0f;
#pragma unroll
      for (int n = 0; n < E / 8; ++n) {
        const float2 two = {running.sums[half][n][2 * side] * scale,
                            running.sums[half][n][2 * side + 1] * scale};
        *reinterpret_cast<float2*>(to + 8 * n) = two;
        if (whole) store_rounded(unit.item->rounded, head * E + 2 * (lane % 4) + 8 * n, two.x, two.y);
      }
      if (whole || lane % 4 != 0) continue;
      partial[Tiles<E, kHalves>::kRows * E + local] = running.most[half][side];
      partial[Tiles<E, kHalves>::kRows * (E + 1) + local] = total;
    }
}

template <int E, int kHalves>
__device__ void run(Tiles<E, kHalves>& tiles, const Unit& unit, std::int64_t heads) {
  Running<E, kHalves> running;
#pragma unroll
  for (int half = 0; half < kHalves; ++half)
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      running.most[half][side] = -INFINITY;
      running.total[half][side] = 0;
#pragma unroll
      for (int n = 0; n < E / 8; ++n)
        running.sums[half][n][2 * side] = running.sums[half][n][2 * side + 1] = 0;
    }
  const Cache& cache = unit.item->cache;
  if (unit.begin < unit.end) {
    copy_tile<E>(tiles.keys[0], cache.keys, unit, unit.begin);
    commit_copies();
    copy_tile<E>(tiles.values[0], cache.values, unit, unit.begin);
    commit_copies();
  }
  load_queries<E, kHalves>(tiles, unit, heads);
  int stage = 0;
  for (int first = unit.begin; first < unit.end; first += kKeysTile, stage ^= 1) {
    const bool more = first + kKeysTile < unit.end;
    wait_copies<1>();  // the keys have come
    __syncthreads();
    if (more) copy_tile<E>(tiles.keys[stage ^ 1], cache.keys, unit, first + kKeysTile);
    commit_copies();
    float scores[kHalves][kNarrow][4] = {};
    make_scores<E, kHalves>(scores, tiles, tiles.keys[stage]);
    mask<kHalves>(scores, unit, first);
    weigh<E, kHalves>(running, scores);
    wait_copies<1>();  // the values have come
    __syncthreads();
    if (more) copy_tile<E>(tiles.values[stage ^ 1], cache.values, unit, first + kKeysTile);
    commit_copies();
    add_values<E, kHalves>(running, scores, tiles.values[stage]);
  }
  finish<E, kHalves>(running, unit, heads);
}

// Grid: tiles, groups · splits, items. Later rows see more: they begin first.
template <int E, int kHalves>
__global__ void __launch_bounds__(kBlock, 2) tile_kernel(const __grid_constant__ AttendItems items) {
  extern __shared__ __align__(16) unsigned char shared[];
  begin_in_turn();
  const AttendItem& item = items.list[blockIdx.z];
  Unit unit{&item, plan_of(item.T, item.cache.rows, items.shape), 0, 0, 0, 0, 0, 0};
  const int groups = static_cast<int>(items.shape.groups);
  unit.group = static_cast<int>(blockIdx.y) % groups;
  unit.split = static_cast<int>(blockIdx.y) / groups;
  unit.tile = unit.plan.tiles - 1 - static_cast<int>(blockIdx.x);
  if (unit.tile < 0 || unit.split >= unit.plan.splits) return;
  unit.sharing = static_cast<int>(items.shape.heads) / groups;
  unit.begin = unit.split * unit.plan.keys;
  unit.end = min(unit.begin + unit.plan.keys, limit_of(unit, unit.plan.height - 1));
  run<E, kHalves>(*reinterpret_cast<Tiles<E, kHalves>*>(shared), unit, items.shape.heads);
}

template <int E, int kHalves>
void launch_tiles(Stream stream, const AttendItems& items, const dim3& grid) {
  using Shared = Tiles<E, kHalves>;
  cudaFuncSetAttribute(tile_kernel<E, kHalves>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  launch(tile_kernel<E, kHalves>, grid, kBlock, stream, sizeof(Shared), items);
}

}  // namespace

void attend_tiles(Stream stream, const AttendItems& items) {
  int tiles = 0, splits = 0, height = 0;
  for (int i = 0; i < items.count; ++i) {
    const AttendPlan plan = plan_of(items.list[i].T, items.list[i].cache.rows, items.shape);
    tiles = std::max(tiles, plan.tiles);
    splits = std::max(splits, plan.splits);
    height = plan.height;
  }
  if (tiles == 0) return;
  const dim3 grid(static_cast<unsigned>(tiles),
                  static_cast<unsigned>(items.shape.groups) * static_cast<unsigned>(splits),
                  static_cast<unsigned>(items.count));
  const bool low = height == kSomeRowsTile;
  if (items.shape.head_size == 64)
    return low ? launch_tiles<64, 1>(stream, items, grid) : launch_tiles<64, 2>(stream, items, grid);
  return low ? launch_tiles<128, 1>(stream, items, grid) : launch_tiles<128, 2>(stream, items, grid);
}

}  // namespace mplus::kernels::cuda
