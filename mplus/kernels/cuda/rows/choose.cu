// One token of a row of logits, by chance (core/numbers/choose.h). A row is shared by the blocks of a cluster
// where the device has such, else one block has it. Sums are of whole numbers, so that it is the processor's
// token whatever the order.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

using Wide = unsigned long long;

constexpr int kBlock = 1024, kWarps = kBlock / kWarp;
constexpr int kMostBlocks = 8;  // of a row
constexpr int kCuts = 7;        // a pass looks at
constexpr int kShort = 512;     // so many tokens are looked at one by one
constexpr int kSums = 2 * (kCuts + 1);

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

// The blocks of a row: how many there are, which this one is, and what another one has in its shared memory.
#if __CUDA_ARCH__ >= 900
__device__ int blocks() {
  int n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n;
}
__device__ int rank() {
  int n;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(n));
  return n;
}
__device__ void wait_for_blocks() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n" ::: "memory");
}
template <class T>
__device__ T* of_block(T* shared, int rank) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
}
#else
__device__ int blocks() { return 1; }
__device__ int rank() { return 0; }
__device__ void wait_for_blocks() { __syncthreads(); }
template <class T>
__device__ T* of_block(T* shared, int) {
  return shared;
}
#endif

// What the threads of a block share. What other blocks read takes turns between two places: a block may be
// one step ahead.
struct Shared {
  Wide warps[kSums][kWarps];
  Wide own[2][kSums], sums[kSums];
  int turn;
  Wide cuts[kCuts];
  Wide low, high, above, found;  // of the search for a cut
  Wide inside;
  int listed;  // of the first block, which looks at what is left
  Wide keys[kShort], list[kShort];
};

// The sums of all threads of all blocks in s.sums, or the largest values.
template <bool kLarger = false, int kCount>
__device__ void gather(const Wide (&values)[kCount], Shared& s) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto join = [](Wide a, Wide b) { return kLarger ? max(a, b) : a + b; };
  const auto in_warp = [&](Wide x) {
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) x = join(x, __shfl_xor_sync(kAllLanes, x, step));
    return x;
  };
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const Wide sum = in_warp(values[i]);
    if (lane == 0) s.warps[i][warp] = sum;
  }
  const int turn = s.turn;
  __syncthreads();
  if (warp < kCount) {
    const Wide sum = in_warp(s.warps[warp][lane]);
    if (lane == 0) s.own[turn][warp] = sum;
  }
  if (threadIdx.x == 0) s.turn = 1 - turn;
  wait_for_blocks();
  if (threadIdx.x < kCount) {
    Wide sum = 0;
    for (int block = 0; block < blocks(); ++block)
      sum = join(sum, *of_block(&s.own[turn][threadIdx.x], block));
    s.sums[threadIdx.x] = sum;
  }
  __syncthreads();
}

// A row, and which of its tokens may be taken: those with a key of `cut` or more and enough odds.
struct Candidates {
  const float* logits;
  std::int64_t begin, end;  // of this block, begin a multiple of four
  float best, octaves;
  Wide least, cut;

  __device__ Wide odds(float logit) const {
    const Wide odds = odds_of(logit - best, octaves);
    return odds >= least ? odds : 0;
  }

  // f(logit, id) of the block's tokens.
  template <class Function>
  __device__ void each(const Function& f) const {
    if ((end - begin) % 4 == 0 && reinterpret_cast<std::uintptr_t>(logits) % 16 == 0) {
      const auto* quads = reinterpret_cast<const float4*>(logits);
#pragma unroll 4
      for (std::int64_t i = begin / 4 + threadIdx.x; i < end / 4; i += kBlock) {
        const float4 x = quads[i];
        f(x.x, 4 * i), f(x.y, 4 * i + 1), f(x.z, 4 * i + 2), f(x.w, 4 * i + 3);
      }
    } else {
      for (std::int64_t i = begin + threadIdx.x; i < end; i += kBlock) f(logits[i], i);
    }
  }
};

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
  int i = 0;
  while (i < kCuts && s.above + s.sums[i] < wanted) ++i;
  s.found = s.above + s.sums[i] >= wanted ? 1 : 0;
  s.inside = s.sums[kCuts + 1 + i] - (i > 0 ? s.sums[kCuts + i] : 0);
  if (i > 0) s.above += s.sums[i - 1], s.high = s.cuts[i - 1];
  if (i < kCuts) s.low = s.cuts[i];
}

// Of the first candidates that weigh `wanted` together, the key of the last; where all weigh less, as low as
// a key can be.
template <class Weight>
__device__ Wide cut_at(const Candidates& row, Wide wanted, Wide best, const Weight& weight, Shared& s) {
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
    Wide sums[kSums] = {};  // weights, then counts
    std::uint32_t counts[kCuts + 1] = {};
    row.each([&](float x, std::int64_t id) {
      const Wide key = key_of(x, id);
      if (key < low || key >= high) return;
      const Wide odds = row.odds(x);
      if (odds == 0) return;
#pragma unroll
      for (int i = 0; i <= kCuts; ++i)
        if (i == kCuts || key >= s.cuts[i]) sums[i] += weight(odds), ++counts[i];
    });
#pragma unroll
    for (int i = 0; i <= kCuts; ++i) sums[kCuts + 1 + i] = counts[i];
    gather(sums, s);
    if (threadIdx.x == 0) narrow(s, wanted);
    __syncthreads();
    if (s.found == 0) return 0;
    if (s.inside <= kShort) break;
  }
  const Wide low = s.low, high = s.high, above = s.above;
  Shared* first = of_block(&s, 0);
  row.each([&](float x, std::int64_t id) {
    const Wide key = key_of(x, id);
    if (key < low || key >= high) return;
    const Wide odds = row.odds(x);
    if (odds == 0) return;
    const int at = atomicAdd(&first->listed, 1);
    first->keys[at] = key, first->list[at] = weight(odds);
  });
  wait_for_blocks();
  const int own = static_cast<int>(threadIdx.x);
  if (rank() == 0 && own < s.listed) {
    Wide sum = above;
    for (int i = 0; i < s.listed; ++i)
      if (s.keys[i] >= s.keys[own]) sum += s.list[i];
    if (sum >= wanted && sum - s.list[own] < wanted) s.found = s.keys[own];
  }
  wait_for_blocks();
  return first->found;
}

// The candidate that has the place `chance` · 2^-64 of all odds, in the order of ids.
__device__ void draw(std::int64_t* out, const Candidates& row, Wide chance, Shared& s) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto share = [&](std::int64_t i) {
    const float x = row.logits[i];
    return key_of(x, i) >= row.cut ? row.odds(x) : 0;
  };
  // Of an equal part of the block's tokens by every warp; then, in the block with the place, of its part by
  // all threads.
  const std::int64_t part = (row.end - row.begin + kWarps - 1) / kWarps;
  const auto end_of = [&](std::int64_t i) { return min(row.end, row.begin + (i + 1) * part); };
  Wide sum[1] = {};
#pragma unroll 8
  for (std::int64_t i = row.begin + warp * part + lane; i < end_of(warp); i += kWarp) sum[0] += share(i);
  const int turn = s.turn;
  gather(sum, s);
  Wide left = __umul64hi(chance, s.sums[0]);
  for (int block = 0; block < rank(); ++block) {
    const Wide other = *of_block(&s.own[turn][0], block);
    left = left >= other ? left - other : ~Wide{0};  // stands in a block before this one
    if (left == ~Wide{0}) break;
  }
  if (left >= s.own[turn][0]) return;
  int chosen = 0;
  for (; left >= s.warps[0][chosen]; ++chosen) left -= s.warps[0][chosen];
  const std::int64_t end = end_of(chosen), run = (part + kBlock - 1) / kBlock;
  const std::int64_t begin = min(end, row.begin + chosen * part + threadIdx.x * run),
                     last = min(end, begin + run);
  Wide own = 0;
  for (std::int64_t i = begin; i < last; ++i) own += share(i);
  Wide before = own;  // with all threads of the warp up to this one, then with all warps
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const Wide other = __shfl_up_sync(kAllLanes, before, step);
    if (lane >= step) before += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) s.warps[0][warp] = before;
  __syncthreads();
  for (int i = 0; i < warp; ++i) before += s.warps[0][i];
  before -= own;
  if (left < before || left >= before + own) return;
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

// blockIdx.y is the row.
__global__ void __launch_bounds__(kBlock) choose_kernel(std::int64_t* out, float* logits, std::int64_t vocab,
                                                        const __grid_constant__ Choices choices) {
  __shared__ Shared s;
  begin_in_turn();
  const Choices::Row& choice = choices.list[blockIdx.y];
  float* own = logits + blockIdx.y * vocab;
  out += blockIdx.y;
  const std::int64_t part = (vocab + blocks() * 4 - 1) / (blocks() * 4) * 4;
  Candidates row{.logits = own,
                 .begin = min(vocab, rank() * part),
                 .end = min(vocab, (rank() + 1) * part),
                 .best = 0,
                 .octaves = choice.octaves,
                 .least = choice.least,
                 .cut = 0};
  if (threadIdx.x == 0) s.turn = 0;
  for (std::int64_t i = threadIdx.x; i < choice.edit_count; i += kBlock) {
    const LogitEdit edit = choice.edits[i];
    if (edit.id >= row.begin && edit.id < row.end) own[edit.id] = edited(own[edit.id], edit);
  }
  __syncthreads();
  Wide most[1] = {};
  row.each([&](float x, std::int64_t id) { most[0] = max(most[0], key_of(x, id)); });
  gather<true>(most, s);
  const Wide best = s.sums[0];
  row.best = in_order(best >> 32);
  if (!choice.drawn || !isfinite(row.best)) {
    if (rank() == 0 && threadIdx.x == 0) *out = id_of(best);
  } else {
    if (choice.top_k > 0)
      row.cut = cut_at(
          row, choice.top_k, best, [](Wide) { return Wide{1}; }, s);
    if (choice.top_p < 1.0f) {
      Wide total[1] = {};
      row.each([&](float x, std::int64_t id) { total[0] += key_of(x, id) >= row.cut ? row.odds(x) : 0; });
      gather(total, s);
      const Wide wanted = share_of_odds(choice.top_p, s.sums[0]);
      row.cut = cut_at(
          row, wanted, best, [](Wide odds) { return odds; }, s);
    }
    draw(out, row, choice.chance, s);
  }
  wait_for_blocks();  // nobody leaves while another one reads what it has
}

}  // namespace

void choose(Stream stream, std::int64_t* out, float* logits, std::int64_t vocab, const Choices& choices) {
  if (choices.count <= 0) return;
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  const unsigned blocks = major >= 9 ? kMostBlocks : 1;
  const Grid grid(dim3(blocks, static_cast<unsigned>(choices.count)), blocks);
  launch(choose_kernel, grid, kBlock, stream, 0, out, logits, vocab, choices);
}

}  // namespace mplus::kernels::cuda
