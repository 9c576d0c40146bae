// Attention of many queries with heads of 128, by the matrix instruction of a warpgroup (warpgroup.cuh). A
// block has 128 rows (attention.cuh) of a group. One thread has keys and values brought, 128 rows of the
// cache at a time, two such tiles ahead; two warpgroups with 64 rows each compute. While a tile's values are
// added up, the next one's scores are made and weighed; and while one warpgroup weighs, the other one has the
// matrix units.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/attention/attention.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/tensor_map.h"
#include "mplus/kernels/cuda/device/warpgroup.cuh"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWorkers = 2, kBlock = (1 + kWorkers) * kWarpgroup;
constexpr int kHead = 128, kHalf = 64;  // elements; a row in shared memory is half a head
constexpr int kMostWideItems = 8;       // of one launch, whose parameters are at most 4 kB

struct WideItems {
  CUtensorMap keys[kMostWideItems], values[kMostWideItems];
  AttendItem list[kMostWideItems];
  Shape shape;
};

#ifdef MPLUS_WARPGROUPS

constexpr int kStages = 2, kWorkerRows = kWideRowsTile / kWorkers;
constexpr int kKeysHalf = kWideKeysTile * kHalf, kQueriesHalf = kWorkerRows * kHalf;

struct Tiles {
  bf16 q[kWorkers][2][kQueriesHalf];
  bf16 keys[kStages][2][kKeysHalf];
  bf16 values[kStages][2][kKeysHalf];
  Barrier keys_there[kStages], keys_done[kStages], values_there[kStages], values_done[kStages];
};

// What a block works on.
struct Unit {
  const AttendItem* item;
  AttendPlan plan;
  int group, tile, split, sharing;
  int begin, end;  // of the cache's rows, as far as any row of the tile sees

  __device__ int turns() const { return max(0, (end - begin + kWideKeysTile - 1) / kWideKeysTile); }
  // The first row of the cache that a row of the tile may not see.
  __device__ int limit(int local) const {
    const int query = min(tile * kWideRowsTile + local, plan.rows - 1) / sharing;
    return static_cast<int>(item->cache.rows - item->T) + 1 + query;
  }
  __device__ std::int64_t head(int row, std::int64_t heads) const {
    return static_cast<std::int64_t>(row / sharing) * heads + group * sharing + row % sharing;
  }
};

// Which stage turn n uses, and in which phase its barriers are then.
__device__ int stage_of(int n) { return n % kStages; }
__device__ int phase_of(int n) { return n / kStages % 2; }

__device__ void bring(bf16 (&to)[2][kKeysHalf], const CUtensorMap& map, int first, int group,
                      Barrier& there) {
  arrive_expecting(there, sizeof to);
  for (int half = 0; half < 2; ++half) copy_box(to[half], map, half * kHalf, first, group, there);
}

__device__ void bring_all(Tiles& tiles, const Unit& unit, const CUtensorMap& keys,
                          const CUtensorMap& values) {
  for (int n = 0; n < unit.turns(); ++n) {
    const int stage = stage_of(n), before = phase_of(n) ^ 1, first = unit.begin + n * kWideKeysTile;
    wait(tiles.keys_done[stage], before);
    bring(tiles.keys[stage], keys, first, unit.group, tiles.keys_there[stage]);
    wait(tiles.values_done[stage], before);
    bring(tiles.values[stage], values, first, unit.group, tiles.values_there[stage]);
  }
}

// A worker's queries, scaled and rounded, in the order that matrix_at() means.
__device__ void load_queries(bf16 (&q)[2][kQueriesHalf], const Unit& unit, int worker, std::int64_t heads) {
  constexpr int kPieces = kWorkerRows * kHead / 8 / kWarpgroup;
  const float scale = score_scale(kHead);
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int at = piece * kWarpgroup + thread, local = at / (kHead / 8), i = at % (kHead / 8) * 8;
    const int row = unit.tile * kWideRowsTile + worker * kWorkerRows + local;
    uint4 packed{};
    if (row < unit.plan.rows) {
      const auto* from = reinterpret_cast<const float4*>(unit.item->q + unit.head(row, heads) * kHead + i);
      const float4 x = from[0], y = from[1];
      packed = {pack<bf16>(x.x * scale, x.y * scale), pack<bf16>(x.z * scale, x.w * scale),
                pack<bf16>(y.x * scale, y.y * scale), pack<bf16>(y.z * scale, y.w * scale)};
    }
    const int place = local * kHalf + (i % kHalf / 8 ^ local % 8) * 8;
    *reinterpret_cast<uint4*>(&q[i / kHalf][place]) = packed;
  }
}

using Sums = float[kHead / 8][4];
using Scores = float[kWideKeysTile / 8][4];
using Weights = std::uint32_t[kWideKeysTile / 16][4];
constexpr int kGroupBytes = 8 * kHalf * sizeof(bf16);  // eight rows

__device__ void start_scores(Scores& scores, std::uint32_t q, std::uint32_t keys) {
#pragma unroll
  for (int k = 0; k < kHead; k += 16) {
    const int half = k / kHalf, within = k % kHalf * static_cast<int>(sizeof(bf16));
    multiply(scores, matrix_at(q + half * kQueriesHalf * sizeof(bf16) + within, kGroupBytes, 0),
             matrix_at(keys + half * kKeysHalf * sizeof(bf16) + within, kGroupBytes, 0), k > 0);
  }
  commit_products();
}

__device__ void start_sums(Sums& sums, const Weights& weights, std::uint32_t values) {
#pragma unroll
  for (int k = 0; k < kWideKeysTile / 16; ++k)
    multiply_turned(sums, weights[k],
                    matrix_at(values + k * 2 * kGroupBytes, kGroupBytes, kKeysHalf * sizeof(bf16)));
  commit_products();
}

// The largest score and the sum of weights of a thread's two rows.
struct Running {
  float most[2], total[2];
};

// Keys from `first` on that a row may not see count nothing.
__device__ void mask(Scores& scores, const int (&limits)[2], int first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (first + kWideKeysTile <= limits[0]) return;
#pragma unroll
  for (int n = 0; n < kWideKeysTile / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (first + 8 * n + 2 * (lane % 4) + i % 2 >= limits[i / 2]) scores[n][i] = -INFINITY;
}

// Scores become weights; shrink[side] is what everything before counts less.
__device__ void weigh(Running& running, Scores& scores, float (&shrink)[2]) {
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    float most = running.most[side];
#pragma unroll
    for (int n = 0; n < kWideKeysTile / 8; ++n)
      most = fmaxf(most, fmaxf(scores[n][2 * side], scores[n][2 * side + 1]));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
    shrink[side] = weight_of(running.most[side], most);
    const float zero = most == -INFINITY ? 0.0f : most;
    float total = 0;
#pragma unroll
    for (int n = 0; n < kWideKeysTile / 8; ++n)
#pragma unroll
      for (int i = 2 * side; i < 2 * side + 2; ++i) total += scores[n][i] = power_of_two(scores[n][i] - zero);
    running.most[side] = most;
    running.total[side] = running.total[side] * shrink[side] + total;
  }
}

__device__ void round_weights(Weights& weights, const Scores& scores) {
#pragma unroll
  for (int k = 0; k < kWideKeysTile / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      weights[k][i] = pack<bf16>(scores[2 * k + i / 2][i % 2 * 2], scores[2 * k + i / 2][i % 2 * 2 + 1]);
}

__device__ void shrink_sums(Sums& sums, const float (&shrink)[2]) {
#pragma unroll
  for (int n = 0; n < kHead / 8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[n][i] *= shrink[i / 2];
}

// To the output where a row is whole, otherwise to the unit's partial results.
__device__ void finish(const Running& running, const Sums& sums, const Unit& unit, int first_local,
                       std::int64_t heads) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool whole = unit.plan.splits == 1;
  float* partial =
      unit.item->partial + unit.plan.unit(unit.group, unit.tile, unit.split) * unit_floats(unit.plan, kHead);
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    float total = running.total[side];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    total += __shfl_xor_sync(kAllLanes, total, 2);
    const int local = first_local + 8 * side, row = unit.tile * kWideRowsTile + local;
    if (row >= unit.plan.rows) continue;
    const std::int64_t head = unit.head(row, heads);
    float* to = (whole ? unit.item->out + head * kHead : partial + local * kHead) + 2 * (lane % 4);
    const float scale = whole ? 1.0f / total : 1.0f;
#pragma unroll
    for (int n = 0; n < kHead / 8; ++n) {
      const float2 two = {sums[n][2 * side] * scale, sums[n][2 * side + 1] * scale};
      *reinterpret_cast<float2*>(to + 8 * n) = two;
      if (whole) store_rounded(unit.item->rounded, head * kHead + 2 * (lane % 4) + 8 * n, two.x, two.y);
    }
    if (whole || lane % 4 != 0) continue;
    partial[kWideRowsTile * kHead + local] = running.most[side];
    partial[kWideRowsTile * (kHead + 1) + local] = total;
  }
}

// The workers take turns at the matrix units: one starts its products when the other one has started its own.
struct Turns {
  int mine, theirs;
  __device__ explicit Turns(int worker) : mine(1 + worker), theirs(2 - worker) {
    if (worker == 1) give();
  }
  __device__ void take() const { sync(mine, kWorkers * kWarpgroup); }
  __device__ void give() const { meet(theirs, kWorkers * kWarpgroup); }
};
constexpr int kQueriesBarrier = 3;  // and the next one

// Of a whole warp, when it has done with what a barrier guards.
__device__ void release(Barrier& barrier) {
  if (threadIdx.x % kWarp == 0) arrive(barrier);
}

__device__ void work(Tiles& tiles, const Unit& unit, int worker, std::int64_t heads) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int first_local = worker * kWorkerRows + thread / kWarp * 16 + thread % kWarp / 4,
            turns = unit.turns();
  const int limits[2] = {unit.limit(first_local), unit.limit(first_local + 8)};
  Running running{{-INFINITY, -INFINITY}, {0, 0}};
  Sums sums = {};
  if (turns == 0) return finish(running, sums, unit, first_local, heads);
  load_queries(tiles.q[worker], unit, worker, heads);
  show_stores();
  sync(kQueriesBarrier + worker, kWarpgroup);
  const std::uint32_t q = shared_address(tiles.q[worker]);
  const Turns turn(worker);
  Scores scores;
  Weights weights;
  float shrink[2];
  wait(tiles.keys_there[0], 0);
  turn.take();
  begin_products();
  start_scores(scores, q, shared_address(tiles.keys[0]));
  turn.give();
  wait_products<0>();
  hold(scores);
  release(tiles.keys_done[0]);
  mask(scores, limits, unit.begin);
  weigh(running, scores, shrink);
  round_weights(weights, scores);
  for (int n = 1; n < turns; ++n) {
    const int stage = stage_of(n), last = stage_of(n - 1);
    wait(tiles.keys_there[stage], phase_of(n));
    turn.take();
    hold(sums);
    begin_products();
    start_scores(scores, q, shared_address(tiles.keys[stage]));
    wait(tiles.values_there[last], phase_of(n - 1));
    start_sums(sums, weights, shared_address(tiles.values[last]));
    turn.give();
    wait_products<1>();
    hold(scores);
    release(tiles.keys_done[stage]);
    mask(scores, limits, unit.begin + n * kWideKeysTile);
    weigh(running, scores, shrink);
    wait_products<0>();
    hold(sums);
    hold(weights);
    release(tiles.values_done[last]);
    shrink_sums(sums, shrink);
    round_weights(weights, scores);
  }
  wait(tiles.values_there[stage_of(turns - 1)], phase_of(turns - 1));
  hold(sums);
  begin_products();
  start_sums(sums, weights, shared_address(tiles.values[stage_of(turns - 1)]));
  wait_products<0>();
  hold(sums);
  if (worker == 0) turn.take();
  finish(running, sums, unit, first_local, heads);
}

__device__ Unit unit_of(const AttendItem& item, const Shape& shape) {
  Unit unit{&item, plan_of(item.T, item.cache.rows, shape), 0, 0, 0, 0, 0, 0};
  const int groups = static_cast<int>(shape.groups);
  unit.group = static_cast<int>(blockIdx.y) % groups;
  unit.split = static_cast<int>(blockIdx.y) / groups;
  unit.tile = unit.plan.tiles - 1 - static_cast<int>(blockIdx.x);
  unit.sharing = static_cast<int>(shape.heads) / groups;
  unit.begin = unit.split * unit.plan.keys;
  unit.end = min(unit.begin + unit.plan.keys, unit.limit(kWideRowsTile - 1));
  return unit;
}

#endif

constexpr std::size_t kTilesBytes = 200'000;

// Grid: tiles, groups · splits, items. Later rows see more: they begin first.
__global__ void __launch_bounds__(kBlock, 1) wide_kernel(const __grid_constant__ WideItems items) {
#ifdef MPLUS_WARPGROUPS
  constexpr int kFew = 24, kMany = 240;  // registers
  extern __shared__ unsigned char shared[];
  Tiles& tiles = *reinterpret_cast<Tiles*>(shared + (-shared_address(shared) & 1023));
  static_assert(sizeof(Tiles) + 1024 <= kTilesBytes);
  const int i = static_cast<int>(blockIdx.z), warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(tiles.keys_there[s], 1);
      init(tiles.values_there[s], 1);
      init(tiles.keys_done[s], kWorkers * kWarpgroup / kWarp);
      init(tiles.values_done[s], kWorkers * kWarpgroup / kWarp);
    }
    show_inits();
    prefetch(items.keys[i]);
    prefetch(items.values[i]);
  }
  __syncthreads();
  begin_in_turn();
  const Unit unit = unit_of(items.list[i], items.shape);
  if (unit.tile < 0 || unit.split >= unit.plan.splits) return;
  if (warpgroup == 0) {
    fewer_registers<kFew>();
    if (threadIdx.x == 0) bring_all(tiles, unit, items.keys[i], items.values[i]);
  } else {
    more_registers<kMany>();
    work(tiles, unit, warpgroup - 1, items.shape.heads);
  }
#endif
}

bool describe(CUtensorMap& map, const void* data, const Cache& cache, const Shape& shape) {
  return describe_rows(map, {data, cache.rows, kHead, kHead, shape.groups, cache.group_stride}, kWideKeysTile,
                       kHalf);
}

}  // namespace

bool has_warpgroups() {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  return major == 9 && minor == 0;
}

bool attend_wide(Stream stream, const AttendItems& items) {
  for (int first = 0; first < items.count; first += kMostWideItems) {
    WideItems some{.shape = items.shape};
    static_assert(sizeof some <= 4096);
    const int count = std::min(kMostWideItems, items.count - first);
    int tiles = 0, splits = 0;
    for (int i = 0; i < count; ++i) {
      const AttendItem& item = some.list[i] = items.list[first + i];
      if (!describe(some.keys[i], item.cache.keys, item.cache, items.shape) ||
          !describe(some.values[i], item.cache.values, item.cache, items.shape))
        return false;
      const AttendPlan plan = plan_of(item.T, item.cache.rows, items.shape);
      tiles = std::max(tiles, plan.tiles);
      splits = std::max(splits, plan.splits);
    }
    const dim3 grid(static_cast<unsigned>(tiles),
                    static_cast<unsigned>(items.shape.groups) * static_cast<unsigned>(splits),
                    static_cast<unsigned>(count));
    allow_shared<wide_kernel>(kTilesBytes);
    launch(wide_kernel, grid, kBlock, stream, kTilesBytes, some);
  }
  return true;
}

}  // namespace mplus::kernels::cuda
