// The best of many scores: the least of them is found digit by digit, a launch for each, counting how many
// scores have each next digit; then all that are no less are written down. The block that comes last in a
// launch looks at what all have counted.
#include <cuda_runtime.h>

#include <algorithm>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kBlock = 512, kDigits = 2048;

// Larger scores are larger numbers; NaN is 0, and nothing else is.
__device__ std::uint32_t order_of(float x) {
  if (isnan(x)) return 0;
  const std::uint32_t bits = __float_as_uint(x + 0.0f);  // −0 equals 0
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

struct Digit {
  int shift;
  std::uint32_t mask;
};

// The digit of the least of the best, and how many of the best are left to be found among those that have it.
__device__ void choose(const std::uint32_t* counts, std::uint32_t digits, std::uint32_t wanted,
                       std::uint32_t* result) {
  // A warp's lanes look at equal shares, from the largest digit down.
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::uint32_t share = digits / kWarp, first = (kWarp - 1 - lane) * share;
  std::uint32_t mine = 0;
  for (std::uint32_t d = first; d < first + share; ++d) mine += counts[d];
  std::uint32_t before = mine;  // of lanes with larger digits, and of this one
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(kAllLanes, before, step);
    if (lane >= step) before += other;
  }
  before -= mine;
  if (before >= wanted || before + mine < wanted) return;
  for (std::uint32_t d = first + share; d-- > first;) {
    if (before + counts[d] >= wanted) {
      result[0] = d;
      result[1] = wanted - before;
      return;
    }
    before += counts[d];
  }
}

// What launches leave for one another, zeros before the first and after the last.
struct State {
  std::uint32_t arrived;
  std::uint32_t found, known;  // digits of the least one, and which bits they are
  std::uint32_t wanted;        // of those that have them
  std::uint32_t least;         // order_of the least one; 0: not known yet
  std::uint32_t total;         // written
};
static_assert(sizeof(State) / sizeof(std::uint32_t) + kDigits <= kBestCounters);

__device__ State& state_of(const Best& job) { return *reinterpret_cast<State*>(job.counters); }
__device__ std::uint32_t* counts_of(const Best& job) {
  return job.counters + sizeof(State) / sizeof(std::uint32_t);
}

// Every warp calls f(place, score) for all its scores, NaN where there are no more.
template <class F>
__device__ void for_scores(const Best& job, F&& f) {
  constexpr int kAhead = 4;
  const std::int64_t step = grid_size(), thread = first_of_grid();
  for (std::int64_t first = 0; first < job.n; first += kAhead * step) {
    float score[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const std::int64_t place = first + i * step + thread;
      score[i] = place < job.n ? job.scores[place] : __int_as_float(0x7fffffff);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) f(first + i * step + thread, score[i]);
  }
}

__device__ bool comes_last(State& state) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&state.arrived, 1u) + 1 == gridDim.x;
    if (last) state.arrived = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Scores are much alike: lanes that have the same digit count together.
__device__ void count_digits(std::uint32_t* counts, const Best& job, const Digit& digit, std::uint32_t found,
                             std::uint32_t known) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for_scores(job, [&](std::int64_t, float score) {
    const std::uint32_t order = order_of(score);
    const bool counts_in = order != 0 && (order & known) == found;
    if (!__any_sync(kAllLanes, counts_in)) return;
    const std::uint32_t mine = counts_in ? order >> digit.shift & digit.mask : kDigits;
    const unsigned same = __match_any_sync(kAllLanes, mine);
    if (counts_in && lane == __ffs(static_cast<int>(same)) - 1)
      atomicAdd(&counts[mine], static_cast<std::uint32_t>(__popc(same)));
  });
}

// One digit more, from what all blocks have counted; the counters are cleared.
__device__ void take_digit(std::uint32_t* counts, const Best& job, const Digit& digit, bool first,
                           bool last) {
  __shared__ std::uint32_t result[2], total;
  State& state = state_of(job);
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  std::uint32_t mine = 0;
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kBlock) {
    mine += counts[d] = __ldcg(counts_of(job) + d);
    counts_of(job)[d] = 0;
  }
  if (first && mine > 0) atomicAdd(&total, mine);
  __syncthreads();
  const std::uint32_t wanted = first ? static_cast<std::uint32_t>(job.wanted) : state.wanted;
  if (first && total <= wanted) {  // all that are numbers
    if (threadIdx.x == 0) state.least = 1;
    return;
  }
  if (threadIdx.x < kWarp) choose(counts, digit.mask + 1, wanted, result);
  __syncthreads();
  if (threadIdx.x != 0) return;
  state.found |= result[0] << digit.shift;
  state.known |= digit.mask << digit.shift;
  state.wanted = result[1];
  if (last) state.least = state.found;
}

__global__ void __launch_bounds__(kBlock) digit_kernel(Best job, Digit digit, bool first, bool last) {
  __shared__ std::uint32_t counts[kDigits];
  begin_in_turn();
  State& state = state_of(job);
  if (state.least != 0) return;
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kBlock) counts[d] = 0;
  __syncthreads();
  count_digits(counts, job, digit, state.found, state.known);
  __syncthreads();
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kBlock)
    if (counts[d] > 0) atomicAdd(counts_of(job) + d, counts[d]);
  if (comes_last(state)) take_digit(counts, job, digit, first, last);
}

// The lanes' places behind those that are taken already.
__device__ std::uint32_t take_places(std::uint32_t* taken, bool wanted) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const unsigned lanes = __ballot_sync(kAllLanes, wanted);
  std::uint32_t first = 0;
  if (lanes != 0 && lane == 0) first = atomicAdd(taken, static_cast<std::uint32_t>(__popc(lanes)));
  first = __shfl_sync(kAllLanes, first, 0);
  return first + static_cast<std::uint32_t>(__popc(lanes & ((1u << lane) - 1)));
}

__global__ void __launch_bounds__(kBlock) write_kernel(Best job) {
  begin_in_turn();
  State& state = state_of(job);
  const std::uint32_t least = state.least;
  for_scores(job, [&](std::int64_t place, float score) {
    const std::uint32_t order = order_of(score);
    const bool taken = order >= least && order != 0;
    const std::uint32_t at = take_places(&state.total, taken);
    if (!taken || at >= job.room) return;
    job.places[at] = static_cast<std::int32_t>(place);
    job.values[at] = score;
  });
  if (!comes_last(state) || threadIdx.x != 0) return;
  *job.count = __ldcg(&state.total);
  state = {};
}

}  // namespace

void best_scores(Stream stream, const Best& job) {
  constexpr Digit kPasses[] = {{21, 0x7ffu}, {10, 0x7ffu}, {0, 0x3ffu}};
  constexpr std::int64_t kMostBlocks = 64;
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::int64_t>((job.n + 4 * kBlock - 1) / (4 * kBlock), 1, kMostBlocks));
  for (const Digit& digit : kPasses)
    launch(digit_kernel, blocks, kBlock, stream, 0, job, digit, digit.shift == 21, digit.shift == 0);
  launch(write_kernel, blocks, kBlock, stream, 0, job);
}

}  // namespace mplus::kernels::cuda
