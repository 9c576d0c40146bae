// One token of a row of logits, by chance (core/numbers/choose.h): a block of 1,024 threads a row. Its sums
// are of whole numbers, so that it takes the processor's token whatever the order.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

using Wide = unsigned long long;

constexpr int kBlock = 1024, kWarps = kBlock / kWarp;
constexpr int kCuts = 7;     // a pass looks at
constexpr int kShort = 512;  // so many tokens are looked at one by one

// A logit in an order of whole numbers, the larger one first; of equal logits the lower id. NaN is the least.
__device__ std::uint32_t order_of(float x) {
  const std::uint32_t bits = __float_as_uint(x + 0.0f);  // −0 equals 0
  return isnan(x) ? 0u : (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ float in_order(std::uint32_t order) {
  return __uint_as_float((order & 0x80000000u) != 0 ? order ^ 0x80000000u : ~order);
}
__device__ Wide key_of(float x, std::int64_t id) {
  return (static_cast<Wide>(order_of(x)) << 32) | (0xffffffffu - static_cast<std::uint32_t>(id));
}
__device__ std::int64_t id_of(Wide key) { return 0xffffffffu - static_cast<std::uint32_t>(key); }

__device__ Wide warp_total(Wide x) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}

// What the threads of a block share.
struct Shared {
  Wide warps[kWarps];
  Wide cuts[kCuts], weights[kCuts + 1][kWarps];
  std::uint32_t counts[kCuts + 1][kWarps];
  Wide low, high, above, found;  // of the search for a cut
  std::uint32_t inside;
  int listed;
  Wide keys[kShort], list[kShort];
};

__device__ Wide block_total(Wide x, Shared& s) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  x = warp_total(x);
  __syncthreads();
  if (lane == 0) s.warps[warp] = x;
  __syncthreads();
  return warp_total(s.warps[lane]);
}

// A row, and which of its tokens may be taken: those with a key of `cut` or more and enough odds.
struct Candidates {
  const float* logits;
  std::int64_t n;
  float best, octaves;
  Wide least, cut;

  __device__ Wide odds(float logit) const {
    const Wide odds = odds_of(logit - best, octaves);
    return odds >= least ? odds : 0;
  }

  // f(logit, id) of all tokens, shared out over the block.
  template <class Function>
  __device__ void each(const Function& f) const {
    if (n % 4 == 0 && reinterpret_cast<std::uintptr_t>(logits) % 16 == 0) {
      const auto* quads = reinterpret_cast<const float4*>(logits);
#pragma unroll 4
      for (std::int64_t i = threadIdx.x; i < n / 4; i += kBlock) {
        const float4 x = quads[i];
        f(x.x, 4 * i), f(x.y, 4 * i + 1), f(x.z, 4 * i + 2), f(x.w, 4 * i + 3);
      }
    } else {
      for (std::int64_t i = threadIdx.x; i < n; i += kBlock) f(logits[i], i);
    }
  }
};

__device__ Wide key_of_best(const Candidates& row, Shared& s) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  Wide most = 0;
  row.each([&](float x, std::int64_t id) { most = max(most, key_of(x, id)); });
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) most = max(most, __shfl_xor_sync(kAllLanes, most, step));
  if (lane == 0) s.warps[warp] = most;
  __syncthreads();
  most = s.warps[lane];
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) most = max(most, __shfl_xor_sync(kAllLanes, most, step));
  return most;
}

// Where a pass looks, from the largest key down: at first by odds, then evenly between logits, then evenly
// between keys, by which any two are told apart at last.
__device__ Wide cut_of(const Candidates& row, const Shared& s, int pass, int i) {
  constexpr float kOctaves[kCuts] = {1, 3, 6, 10, 14, 19, 26};
  const float low = in_order(s.low >> 32), high = in_order(s.high >> 32);
  const float share = static_cast<float>(kCuts - i) / (kCuts + 1);
  const float x = pass == 0 ? row.best - kOctaves[i] / row.octaves : low + (high - low) * share;
  if (pass < 3 && isfinite(x)) return min(max(static_cast<Wide>(order_of(x)) << 32, s.low), s.high);
  return s.low + (s.high - s.low) / (kCuts + 1) * (kCuts - i);
}

// Between which two cuts the one that is looked for lies, and how much weighs what is above.
__device__ void narrow(Shared& s, Wide wanted) {
  Wide last = 0;
  std::uint32_t last_count = 0;
  for (int i = 0; i <= kCuts; ++i) {
    Wide weight = 0;
    std::uint32_t count = 0;
    for (int warp = 0; warp < kWarps; ++warp) weight += s.weights[i][warp], count += s.counts[i][warp];
    if (s.above + weight >= wanted || i == kCuts) {
      const Wide low = i < kCuts ? s.cuts[i] : s.low;
      if (i > 0) s.high = s.cuts[i - 1];
      s.low = low;
      s.above += last;
      s.inside = count - last_count;
      s.found = s.above - last + weight >= wanted ? 1 : 0;
      return;
    }
    last = weight, last_count = count;
  }
}

// Of the first candidates that weigh `wanted` together, the key of the last; where all weigh less, as low as
// a key can be.
template <class Weight>
__device__ Wide cut_at(const Candidates& row, Wide wanted, Wide best, const Weight& weight, Shared& s) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  __syncthreads();
  if (threadIdx.x == 0) {
    const float lowest = row.best - 42.0f / row.octaves;  // there are no odds below
    s.low = max(row.cut, isfinite(lowest) ? static_cast<Wide>(order_of(lowest)) << 32 : 0);
    s.high = best + 1, s.above = 0, s.listed = 0;
  }
  __syncthreads();
  for (int pass = 0;; ++pass) {
    if (threadIdx.x < kCuts) s.cuts[threadIdx.x] = cut_of(row, s, pass, static_cast<int>(threadIdx.x));
    __syncthreads();
    const Wide low = s.low, high = s.high;
    Wide weights[kCuts + 1] = {};
    std::uint32_t counts[kCuts + 1] = {};
    row.each([&](float x, std::int64_t id) {
      const Wide key = key_of(x, id);
      if (key < low || key >= high) return;
      const Wide odds = row.odds(x);
      if (odds == 0) return;
#pragma unroll
      for (int i = 0; i <= kCuts; ++i)
        if (i == kCuts || key >= s.cuts[i]) weights[i] += weight(odds), ++counts[i];
    });
#pragma unroll
    for (int i = 0; i <= kCuts; ++i) {
      weights[i] = warp_total(weights[i]);
      counts[i] = __reduce_add_sync(kAllLanes, counts[i]);
      if (lane == 0) s.weights[i][warp] = weights[i], s.counts[i][warp] = counts[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) narrow(s, wanted);
    __syncthreads();
    if (s.found == 0) return 0;
    if (s.inside <= kShort) break;
  }
  const Wide low = s.low, high = s.high, above = s.above;
  row.each([&](float x, std::int64_t id) {
    const Wide key = key_of(x, id);
    if (key < low || key >= high) return;
    const Wide odds = row.odds(x);
    if (odds == 0) return;
    const int at = atomicAdd(&s.listed, 1);
    s.keys[at] = key, s.list[at] = weight(odds);
  });
  __syncthreads();
  const int own = static_cast<int>(threadIdx.x);
  if (own < s.listed) {
    Wide sum = above;
    for (int i = 0; i < s.listed; ++i)
      if (s.keys[i] >= s.keys[own]) sum += s.list[i];
    if (sum >= wanted && sum - s.list[own] < wanted) s.found = s.keys[own];
  }
  __syncthreads();
  return s.found;
}

// The candidate that has the place `chance` · 2^-64 of all odds, in the order of ids.
__device__ void draw(std::int64_t* out, const Candidates& row, Wide chance, Shared& s) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto share = [&](std::int64_t i) {
    const float x = row.logits[i];
    return key_of(x, i) >= row.cut ? row.odds(x) : 0;
  };
  // Of an equal part of the row by every warp; then of the part with the place by all threads.
  const std::int64_t part = (row.n + kWarps - 1) / kWarps;
  Wide sum = 0;
#pragma unroll 8
  for (std::int64_t i = warp * part + lane; i < min(row.n, (warp + 1) * part); i += kWarp) sum += share(i);
  sum = warp_total(sum);
  __syncthreads();
  if (lane == 0) s.warps[warp] = sum;
  __syncthreads();
  Wide left = __umul64hi(chance, warp_total(s.warps[lane]));
  int chosen = 0;
  for (; left >= s.warps[chosen]; ++chosen) left -= s.warps[chosen];
  const std::int64_t end = min(row.n, (chosen + 1) * part), run = (part + kBlock - 1) / kBlock;
  const std::int64_t begin = min(end, chosen * part + threadIdx.x * run), last = min(end, begin + run);
  sum = 0;
  for (std::int64_t i = begin; i < last; ++i) sum += share(i);
  Wide before = sum;  // with all threads of the warp up to this one, then with all warps
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const Wide other = __shfl_up_sync(kAllLanes, before, step);
    if (lane >= step) before += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) s.warps[warp] = before;
  __syncthreads();
  for (int i = 0; i < warp; ++i) before += s.warps[i];
  before -= sum;
  if (left < before || left >= before + sum) return;
  left -= before;
  for (std::int64_t i = begin; i < last; ++i) {
    const Wide odds = share(i);
    if (left < odds) {
      *out = i;
      return;
    }
    left -= odds;
  }
}

__global__ void __launch_bounds__(kBlock) choose_kernel(std::int64_t* out, float* logits, std::int64_t vocab,
                                                        const __grid_constant__ Choices choices) {
  __shared__ Shared s;
  begin_in_turn();
  const Choices::Row& choice = choices.list[blockIdx.x];
  float* own = logits + blockIdx.x * vocab;
  out += blockIdx.x;
  for (std::int64_t i = threadIdx.x; i < choice.edit_count; i += kBlock) {
    const LogitEdit edit = choice.edits[i];
    own[edit.id] = edited(own[edit.id], edit);
  }
  __syncthreads();
  Candidates row{
      .logits = own, .n = vocab, .best = 0, .octaves = choice.octaves, .least = choice.least, .cut = 0};
  const Wide best = key_of_best(row, s);
  row.best = own[id_of(best)];
  if (!choice.drawn || !isfinite(row.best)) {
    if (threadIdx.x == 0) *out = id_of(best);
    return;
  }
  if (choice.top_k > 0)
    row.cut = cut_at(
        row, choice.top_k, best, [](Wide) { return Wide{1}; }, s);
  if (choice.top_p < 1.0f) {
    Wide total = 0;
    row.each([&](float x, std::int64_t id) { total += key_of(x, id) >= row.cut ? row.odds(x) : 0; });
    const Wide wanted = share_of_odds(choice.top_p, block_total(total, s));
    row.cut = cut_at(
        row, wanted, best, [](Wide odds) { return odds; }, s);
  }
  draw(out, row, choice.chance, s);
}

}  // namespace

void choose(Stream stream, std::int64_t* out, float* logits, std::int64_t vocab, const Choices& choices) {
  if (choices.count > 0)
    launch(choose_kernel, static_cast<unsigned>(choices.count), kBlock, stream, 0, out, logits, vocab,
           choices);
}

}  // namespace mplus::kernels::cuda
