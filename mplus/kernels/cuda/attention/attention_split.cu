// Attention of few queries over a long cache, at the speed of memory: keys and values go straight from memory
// to registers. A block takes the (at most 16) rows of a group against a share of the cache, its warps take
// turns by 16 keys, and what they have is merged in their order. Sums over elements may run in any order and
// outputs may be in any order, so lanes load 16 bytes of a row at once (see linear_tensor.cu).
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/attention/attention.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWarps = 4, kKeys = 16;  // keys of a warp's turn

// A lane's part of rows r and r + 8 of the queries: 8 elements of every 32.
template <int E>
struct Queries {
  uint4 low[E / 32], high[E / 32];
};

// One warp's running state: rows r and r + 8, of each the columns 64 h + 16 c + 8 {0, 1} + j in sums[8 h +
// j].
template <int E>
struct Running {
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {};
  float sums[E / 8][4] = {};
};

struct Group {
  const bf16 *keys, *values;
  int rows;       // of the cache
  int limits[2];  // first row of the cache that query rows r and r + 8 may not see
};

__device__ uint4 load_query(const float* q, float scale) {
  const float4 a = reinterpret_cast<const float4*>(q)[0], b = reinterpret_cast<const float4*>(q)[1];
  return {pack<bf16>(a.x * scale, a.y * scale), pack<bf16>(a.z * scale, a.w * scale),
          pack<bf16>(b.x * scale, b.y * scale), pack<bf16>(b.z * scale, b.w * scale)};
}

template <int E>
__device__ void make_scores(float (&scores)[2][4], const Queries<E>& q, const uint4 (&keys)[2][E / 32]) {
#pragma unroll
  for (int s = 0; s < E / 32; ++s) {
    const std::uint32_t first[4] = {q.low[s].x, q.high[s].x, q.low[s].y, q.high[s].y};
    const std::uint32_t second[4] = {q.low[s].z, q.high[s].z, q.low[s].w, q.high[s].w};
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      mma<bf16>(scores[n], first, keys[n][s].x, keys[n][s].y);
      mma<bf16>(scores[n], second, keys[n][s].z, keys[n][s].w);
    }
  }
}

// Scores become weights; what came before is shrunk where a larger score has come.
template <int E>
__device__ void weigh(Running<E>& running, float (&scores)[2][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = running.most[half];
#pragma unroll
    for (int n = 0; n < 2; ++n) most = fmaxf(most, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
    const float shrink = weight_of(running.most[half], most);
    running.most[half] = most;
    running.total[half] *= shrink;
#pragma unroll
    for (int n = 0; n < 2; ++n)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i)
        running.total[half] += scores[n][i] = weight_of(scores[n][i], most);
#pragma unroll
    for (int n = 0; n < E / 8; ++n) {
      running.sums[n][2 * half] *= shrink;
      running.sums[n][2 * half + 1] *= shrink;
    }
  }
}

// Elements j of two rows' eight as one operand.
__device__ std::uint32_t pair_of(const uint4& a, const uint4& b, int j) {
  const std::uint32_t x = j < 2 ? a.x : j < 4 ? a.y : j < 6 ? a.z : a.w;
  const std::uint32_t y = j < 2 ? b.x : j < 4 ? b.y : j < 6 ? b.z : b.w;
  return __byte_perm(x, y, j % 2 == 0 ? 0x5410 : 0x7632);
}

template <int E>
__device__ void add_values(Running<E>& running, const float (&weights)[2][4],
                           const uint4 (&values)[4][E / 64]) {
  const std::uint32_t a[4] = {
      pack<bf16>(weights[0][0], weights[0][1]), pack<bf16>(weights[0][2], weights[0][3]),
      pack<bf16>(weights[1][0], weights[1][1]), pack<bf16>(weights[1][2], weights[1][3])};
#pragma unroll
  for (int h = 0; h < E / 64; ++h)
#pragma unroll
    for (int j = 0; j < 8; ++j)
      mma<bf16>(running.sums[8 * h + j], a, pair_of(values[0][h], values[1][h], j),
                pair_of(values[2][h], values[3][h], j));
}

// Rows behind the cache's end are read as its last and weigh nothing.
template <int E>
__device__ void load_keys(uint4 (&keys)[2][E / 32], const Group& group, int first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, r = lane / 4, c = lane % 4;
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const bf16* row =
        group.keys + static_cast<std::int64_t>(min(first + 8 * n + r, group.rows - 1)) * E + 8 * c;
#pragma unroll
    for (int s = 0; s < E / 32; ++s) keys[n][s] = load_once(row + 32 * s);
  }
}

template <int E>
__device__ void load_values(uint4 (&values)[4][E / 64], const Group& group, int first) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, r = lane / 4, c = lane % 4;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int key = first + 2 * c + i % 2 + i / 2 * 8;
    const bf16* row = group.values + static_cast<std::int64_t>(min(key, group.rows - 1)) * E + 8 * r;
#pragma unroll
    for (int h = 0; h < E / 64; ++h) values[i][h] = load_once(row + 64 * h);
  }
}

template <int E>
__device__ void hide(float (&scores)[2][4], const Group& group, int first) {
  const int c = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int n = 0; n < 2; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (first + 8 * n + 2 * c + i % 2 >= group.limits[i / 2]) scores[n][i] = -INFINITY;
}

// Sixteen keys from `first` on, which have been loaded; while their values are weighed, those of the next
// turn are on their way.
template <int E>
__device__ void turn(Running<E>& running, const Queries<E>& q, const Group& group, uint4 (&keys)[2][E / 32],
                     int first) {
  uint4 values[4][E / 64];
  load_values<E>(values, group, first);
  float scores[2][4] = {};
  make_scores<E>(scores, q, keys);
  load_keys<E>(keys, group, first + kWarps * kKeys);
  hide<E>(scores, group, first);
  weigh<E>(running, scores);
  add_values<E>(running, scores, values);
}

// A warp's ring in shared memory: keys and values of some turns, of which a lane reads what it asked for.
template <int E>
struct Ring {
  static constexpr int kStages = E == 128 ? 3 : 6, kPieces = E / 16;  // pieces of keys, and as many of values
  uint4 turns[kStages][2 * kPieces][kWarp];

  __device__ void ask_for(const Group& group, int stage, int first, int end) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, r = lane / 4, c = lane % 4;
    if (first < end) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const bf16* row =
            group.keys + static_cast<std::int64_t>(min(first + 8 * n + r, group.rows - 1)) * E + 8 * c;
#pragma unroll
        for (int s = 0; s < E / 32; ++s) ask(&turns[stage][n * (E / 32) + s][lane], row + 32 * s, true);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = first + 2 * c + i % 2 + i / 2 * 8;
        const bf16* row = group.values + static_cast<std::int64_t>(min(key, group.rows - 1)) * E + 8 * r;
#pragma unroll
        for (int h = 0; h < E / 64; ++h)
          ask(&turns[stage][kPieces + i * (E / 64) + h][lane], row + 64 * h, true);
      }
    }
    end_of_step();
  }
  __device__ void take(Running<E>& running, const Queries<E>& q, const Group& group, int stage, int first) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    wait_for_step<kStages - 1>();
    uint4 keys[2][E / 32], values[4][E / 64];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      keys[i / (E / 32)][i % (E / 32)] = turns[stage][i][lane];
      values[i / (E / 64)][i % (E / 64)] = turns[stage][kPieces + i][lane];
    }
    float scores[2][4] = {};
    make_scores<E>(scores, q, keys);
    hide<E>(scores, group, first);
    weigh<E>(running, scores);
    add_values<E>(running, scores, values);
  }
};

// What the warps of a block have, of rows that there are. A row's elements stand in an order in which a
// warp's stores meet no bank twice.
template <int E>
struct Merged {
  static constexpr int kRow = E + 4;  // floats: eight rows at a time begin at banks of their own
  float most[kWarps][kFewRowsTile], total[kWarps][kFewRowsTile], sums[kWarps][kFewRowsTile][kRow];

  // Of running.sums[n][… + i] of lanes with this c.
  __device__ static int place(int n, int i, int c) { return (n / 8 * 16 + 8 * i + n % 8) * 4 + c; }
  __device__ static int place_of(int element) {
    return place(element / 64 * 8 + element % 8, element / 8 % 2, element % 64 / 16);
  }
};

template <int E>
__device__ void publish(Merged<E>& shared, Running<E>& running, int rows) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int r = lane / 4, c = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (8 * half >= rows) break;
    running.total[half] += __shfl_xor_sync(kAllLanes, running.total[half], 1);
    running.total[half] += __shfl_xor_sync(kAllLanes, running.total[half], 2);
    const int row = r + 8 * half;
    if (row >= rows) continue;
    shared.most[warp][row] = running.most[half];
    shared.total[warp][row] = running.total[half];
#pragma unroll
    for (int n = 0; n < E / 8; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        shared.sums[warp][row][Merged<E>::place(n, i, c)] = running.sums[n][2 * half + i];
  }
  __syncthreads();
}

// The block's rows: to the output where they are whole, otherwise to the unit's partial results.
template <int E>
__device__ void finish(const Merged<E>& shared, const AttendItems& items, const AttendItem& item,
                       const AttendPlan& plan) {
  const int group = static_cast<int>(blockIdx.y), split = static_cast<int>(blockIdx.x);
  const int sharing = static_cast<int>(items.shape.heads / items.shape.groups);
  float* unit = item.partial + plan.unit(group, 0, split) * unit_floats(plan, E);
  for (int at = static_cast<int>(threadIdx.x); at < plan.rows * E; at += kWarps * kWarp) {
    const int row = at / E, i = at % E;
    float most = shared.most[0][row], total = 0, sum = 0;
    for (int w = 1; w < kWarps; ++w) most = fmaxf(most, shared.most[w][row]);
    for (int w = 0; w < kWarps; ++w) {
      const float weight = weight_of(shared.most[w][row], most);
      total += weight * shared.total[w][row];
      sum += weight * shared.sums[w][row][Merged<E>::place_of(i)];
    }
    if (plan.splits == 1) {
      const std::int64_t to = (row / sharing * items.shape.heads + group * sharing + row % sharing) * E + i;
      item.out[to] = sum / total;
      store_rounded(item.rounded, to, sum / total);
      continue;
    }
    unit[row * E + i] = sum;
    if (i == 0) unit[kFewRowsTile * E + row] = most;
    if (i == 0) unit[kFewRowsTile * (E + 1) + row] = total;
  }
}

// A block's share of the work, without its queries.
template <int E>
struct Part {
  Group rows;
  int begin, end;
};

template <int E>
__device__ Part<E> part_of(const AttendItem& item, const AttendPlan& plan) {
  const std::int64_t offset = blockIdx.y * item.cache.group_stride;
  Part<E> part{{static_cast<const bf16*>(item.cache.keys) + offset,
                static_cast<const bf16*>(item.cache.values) + offset,
                static_cast<int>(item.cache.rows),
                {}},
               static_cast<int>(blockIdx.x) * plan.keys,
               0};
  part.end = min(part.rows.rows, part.begin + plan.keys);
  return part;
}

template <int E>
__device__ Queries<E> load_queries(Part<E>& part, const AttendItems& items, const AttendItem& item,
                                   const AttendPlan& plan) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, r = lane / 4, c = lane % 4;
  const int group = static_cast<int>(blockIdx.y),
            sharing = static_cast<int>(items.shape.heads / items.shape.groups);
  Queries<E> q;
  const float scale = score_scale(E);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = r + 8 * half, known = min(row, plan.rows - 1), t = known / sharing;
    const float* from = item.q + (t * items.shape.heads + group * sharing + known % sharing) * E + 8 * c;
    part.rows.limits[half] = min(part.end, static_cast<int>(item.cache.rows - item.T) + 1 + t);
#pragma unroll
    for (int s = 0; s < E / 32; ++s) (half == 0 ? q.low : q.high)[s] = load_query(from + 32 * s, scale);
  }
  return q;
}

template <int E>
__global__ void __launch_bounds__(kWarps* kWarp, 2) split_kernel(const __grid_constant__ AttendItems items) {
  __shared__ Merged<E> shared;
  begin_in_turn();
  const AttendItem& item = items.list[blockIdx.z];
  const AttendPlan plan = plan_of(item.T, item.cache.rows, items.shape);
  if (static_cast<int>(blockIdx.x) >= plan.splits) return;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  Part<E> part = part_of<E>(item, plan);
  const Queries<E> q = load_queries<E>(part, items, item, plan);
  Running<E> running;
  uint4 keys[2][E / 32];
  load_keys<E>(keys, part.rows, part.begin + warp * kKeys);
  for (int first = part.begin + warp * kKeys; first < part.end; first += kWarps * kKeys)
    turn<E>(running, q, part.rows, keys, first);
  publish<E>(shared, running, plan.rows);
  finish<E>(shared, items, item, plan);
}

// The same through rings: settled rows are asked for before the last kernel has ended.
template <int E>
__global__ void __launch_bounds__(kWarps* kWarp, 2) ring_kernel(const __grid_constant__ AttendItems items) {
  extern __shared__ __align__(16) unsigned char room[];
  constexpr int kStages = Ring<E>::kStages, kStep = kWarps * kKeys;
  const AttendItem& item = items.list[blockIdx.z];
  const AttendPlan plan = plan_of(item.T, item.cache.rows, items.shape);
  const bool idle = static_cast<int>(blockIdx.x) >= plan.splits;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  Ring<E>& ring = reinterpret_cast<Ring<E>*>(room)[warp];
  Part<E> part = part_of<E>(item, plan);
  const int first = part.begin + warp * kKeys, known = static_cast<int>(item.settled);
  int asked = 0;
  if (!idle)
    for (; asked < kStages && first + asked * kStep + kKeys <= known; ++asked)
      ring.ask_for(part.rows, asked, first + asked * kStep, part.end);
  begin_in_turn();
  if (idle) return;
  for (; asked < kStages; ++asked) ring.ask_for(part.rows, asked, first + asked * kStep, part.end);
  const Queries<E> q = load_queries<E>(part, items, item, plan);
  Running<E> running;
  int stage = 0;
  for (int at = first; at < part.end; at += kStep) {
    ring.take(running, q, part.rows, stage, at);
    ring.ask_for(part.rows, stage, at + kStages * kStep, part.end);
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
  wait_for_step<0>();
  __syncthreads();  // the rings are read
  Merged<E>& shared = *reinterpret_cast<Merged<E>*>(room);
  publish<E>(shared, running, plan.rows);
  finish<E>(shared, items, item, plan);
}

// A row over all splits, in their order. Everything is asked for at once: nothing else keeps memory busy
// here.
__global__ void merge_kernel(const __grid_constant__ AttendItems items) {
  constexpr int kAtOnce = 36;
  __shared__ float shared[kWarp], mosts[kMostSplits], totals[kMostSplits];
  begin_in_turn();
  const AttendItem& item = items.list[blockIdx.z];
  const AttendPlan plan = plan_of(item.T, item.cache.rows, items.shape);
  const int row = static_cast<int>(blockIdx.x), group = static_cast<int>(blockIdx.y),
            i = static_cast<int>(threadIdx.x);
  if (row >= plan.rows || plan.splits == 1) return;
  const int e = static_cast<int>(items.shape.head_size),
            sharing = static_cast<int>(items.shape.heads / items.shape.groups);
  const std::int64_t step = unit_floats(plan, e);
  const float* unit = item.partial + plan.unit(group, row / plan.height, 0) * step;
  const int local = row % plan.height, most_at = plan.height * e + local, total_at = most_at + plan.height;
  float sums[kAtOnce], most = -INFINITY, total = 0, sum = 0;
#pragma unroll
  for (int s = 0; s < kAtOnce; ++s) sums[s] = s < plan.splits ? unit[s * step + local * e + i] : 0.0f;
  for (int s = i; s < plan.splits; s += e) {
    most = fmaxf(most, mosts[s] = unit[s * step + most_at]);
    totals[s] = unit[s * step + total_at];
  }
  most = block_max(most, shared);
  const auto add = [&](int s, float x) {
    const float weight = weight_of(mosts[s], most);
    total += weight * totals[s];
    sum += weight * x;
  };
#pragma unroll
  for (int s = 0; s < kAtOnce; ++s)
    if (s < plan.splits) add(s, sums[s]);
#pragma unroll 8
  for (int s = kAtOnce; s < plan.splits; ++s) add(s, unit[s * step + local * e + i]);
  const std::int64_t to = (row / sharing * items.shape.heads + group * sharing + row % sharing) * e + i;
  item.out[to] = sum / total;
  store_rounded(item.rounded, to, sum / total);
}

template <int E>
void launch_ring(Stream stream, dim3 grid, const AttendItems& items) {
  constexpr std::size_t kBytes = std::max(sizeof(Ring<E>) * kWarps, sizeof(Merged<E>));
  allow_shared<ring_kernel<E>>(kBytes);
  launch(ring_kernel<E>, grid, kWarps * kWarp, stream, kBytes, items);
}

}  // namespace

void attend_splits(Stream stream, const AttendItems& items) {
  int splits = 0;
  for (int i = 0; i < items.count; ++i)
    splits = std::max(splits, plan_of(items.list[i].T, items.list[i].cache.rows, items.shape).splits);
  if (splits == 0) return;
  const dim3 grid(static_cast<unsigned>(splits), static_cast<unsigned>(items.shape.groups),
                  static_cast<unsigned>(items.count));
  if (items.count == 1) {  // several keep memory busy without rings, and faster
    if (items.shape.head_size == 64) launch_ring<64>(stream, grid, items);
    if (items.shape.head_size == 128) launch_ring<128>(stream, grid, items);
    return;
  }
  if (items.shape.head_size == 64) launch(split_kernel<64>, grid, kWarps * kWarp, stream, 0, items);
  if (items.shape.head_size == 128) launch(split_kernel<128>, grid, kWarps * kWarp, stream, 0, items);
}

void merge_splits(Stream stream, const AttendItems& items) {
  int rows = 0;
  for (int i = 0; i < items.count; ++i) {
    const AttendPlan plan = plan_of(items.list[i].T, items.list[i].cache.rows, items.shape);
    if (plan.splits > 1) rows = std::max(rows, plan.rows);
  }
  if (rows == 0) return;
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(items.shape.groups),
                  static_cast<unsigned>(items.count));
  launch(merge_kernel, grid, static_cast<unsigned>(items.shape.head_size), stream, 0, items);
}

bool fits_attend_tensor(DType dtype, const Shape& shape) {
  return dtype == DType::bf16 && (shape.head_size == 64 || shape.head_size == 128);
}

std::int64_t partial_floats(const AttendItem& item, const Shape& shape) {
  if (item.T <= 0) return 0;
  const AttendPlan plan = plan_of(item.T, item.cache.rows, shape);
  if (plan.splits == 1) return 0;
  return plan.unit(static_cast<int>(shape.groups), 0, 0) * unit_floats(plan, shape.head_size);
}

void attend_tensor(Stream stream, const AttendItems& items) {
  AttendItems few{.shape = items.shape}, some{.shape = items.shape}, many{.shape = items.shape},
      wide{.shape = items.shape};
  for (int i = 0; i < items.count; ++i) {
    const AttendItem& item = items.list[i];
    if (item.T <= 0) continue;
    const AttendPlan plan = plan_of(item.T, item.cache.rows, items.shape);
    AttendItems& to = plan.wide                      ? wide
                      : plan.height == kFewRowsTile  ? few
                      : plan.height == kSomeRowsTile ? some
                                                     : many;
    to.list[to.count++] = item;
  }
  attend_splits(stream, few);
  attend_tiles(stream, some);
  attend_tiles(stream, many);
  if (!attend_wide(stream, wide)) attend_tiles(stream, wide);
  for (const AttendItems* list : {&few, &some, &many, &wide}) merge_splits(stream, *list);
}

}  // namespace mplus::kernels::cuda
