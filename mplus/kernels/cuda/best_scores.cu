// The best of many scores by one block: it finds the least of them digit by digit, counting how many scores
// have each next digit, and then writes down all that are no less.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device.cuh"
#include "mplus/kernels/cuda/dispatch.cuh"
#include "mplus/kernels/cuda/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kBlock = 1024, kDigits = 2048;

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

// Every warp calls f(place, score) for all its scores, NaN where there are no more. The loads of a step do
// not wait for one another: one block has no others to hide their time behind.
template <class F>
__device__ void for_scores(const Best& job, F&& f) {
  constexpr int kAhead = 16;
  for (std::int64_t first = threadIdx.x; first - threadIdx.x < job.n; first += kAhead * kBlock) {
    float score[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const std::int64_t place = first + i * kBlock;
      score[i] = place < job.n ? job.scores[place] : __int_as_float(0x7fffffff);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) f(first + i * kBlock, score[i]);
  }
}

// How many scores that begin with the digits found so far have each next one. Scores are much alike: lanes
// that have the same digit count together.
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

// The lanes' places behind those that are taken already.
__device__ std::uint32_t take_places(std::uint32_t* taken, bool wanted) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const unsigned lanes = __ballot_sync(kAllLanes, wanted);
  std::uint32_t first = 0;
  if (lanes != 0 && lane == 0) first = atomicAdd(taken, static_cast<std::uint32_t>(__popc(lanes)));
  first = __shfl_sync(kAllLanes, first, 0);
  return first + static_cast<std::uint32_t>(__popc(lanes & ((1u << lane) - 1)));
}

__global__ void __launch_bounds__(kBlock) best_kernel(Best job) {
  __shared__ std::uint32_t counts[kDigits], result[2], total;
  constexpr Digit kPasses[] = {{21, 0x7ffu}, {10, 0x7ffu}, {0, 0x3ffu}};
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) total = 0;
  __syncthreads();
  std::uint32_t mine = 0;
  for_scores(job, [&](std::int64_t, float score) { mine += isnan(score) ? 0u : 1u; });
  if (mine > 0) atomicAdd(&total, mine);
  __syncthreads();
  std::uint32_t least = 1;  // all that are numbers
  if (static_cast<std::int64_t>(total) > job.wanted) {
    std::uint32_t found = 0, known = 0, wanted = static_cast<std::uint32_t>(job.wanted);
    for (const Digit& digit : kPasses) {
      for (int d = thread; d < kDigits; d += kBlock) counts[d] = 0;
      __syncthreads();
      count_digits(counts, job, digit, found, known);
      __syncthreads();
      if (thread < kWarp) choose(counts, digit.mask + 1, wanted, result);
      __syncthreads();
      found |= result[0] << digit.shift;
      known |= digit.mask << digit.shift;
      wanted = result[1];
      __syncthreads();
    }
    least = found;
  }
  __syncthreads();
  if (thread == 0) total = 0;
  __syncthreads();
  for_scores(job, [&](std::int64_t place, float score) {
    const std::uint32_t order = order_of(score);
    const bool taken = order >= least && order != 0;
    const std::uint32_t at = take_places(&total, taken);
    if (!taken || at >= job.room) return;
    job.places[at] = static_cast<std::int32_t>(place);
    job.values[at] = score;
  });
  __syncthreads();
  if (thread == 0) *job.count = total;
}

}  // namespace

void best_scores(Stream stream, const Best& job) { best_kernel<<<1, kBlock, 0, stream>>>(job); }

}  // namespace mplus::kernels::cuda
