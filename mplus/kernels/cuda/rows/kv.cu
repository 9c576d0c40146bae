// Stored rows into an attention cache: keys are rotated in f32, then both are rounded to the cache's type.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

template <class Row, class Stored>
__global__ void append_kernel(AppendRows job) {
  begin_in_turn();
  const std::int64_t r = blockIdx.x, half = job.shape.head_size / 2, position = job.cache.rows + r;
  const std::int64_t from_row = job.numbers ? job.numbers[r] : r;
  const Row* k = job.k_rows ? static_cast<const Row*>(job.k_rows[r])
                            : static_cast<const Row*>(job.k) + from_row * job.k_stride;
  const Row* v = job.v_rows ? static_cast<const Row*>(job.v_rows[r])
                            : static_cast<const Row*>(job.v) + from_row * job.v_stride;
  const float* cos = job.angles + position * 2 * half;
  const float* sin = cos + half;
  for (std::int64_t p = threadIdx.x; p < job.shape.groups * half; p += blockDim.x) {
    const std::int64_t group = p / half, i = p % half, from = group * 2 * half + i;
    const std::int64_t to = group * job.cache.group_stride + position * 2 * half + i;
    const float2 pair = rotate_pair(to_float(k[from]), to_float(k[from + half]), cos[i], sin[i]);
    auto* keys = static_cast<Stored*>(job.cache.keys);
    auto* values = static_cast<Stored*>(job.cache.values);
    keys[to] = from_float<Stored>(pair.x);
    keys[to + half] = from_float<Stored>(pair.y);
    values[to] = from_float<Stored>(to_float(v[from]));
    values[to + half] = from_float<Stored>(to_float(v[from + half]));
  }
}

unsigned threads_for(const Shape& shape) {
  const std::int64_t pairs = shape.groups * shape.head_size / 2;
  return static_cast<unsigned>(std::clamp<std::int64_t>((pairs + 31) / 32 * 32, 32, 256));
}

// Some neighbours of a row, one or four, at once.
template <int kWide>
struct Some {
  float x[kWide];
};
template <int kWide>
__device__ Some<kWide> load_some(const float* from) {
  Some<kWide> some;
  if constexpr (kWide == 4) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    some.x[0] = four.x, some.x[1] = four.y, some.x[2] = four.z, some.x[3] = four.w;
  } else {
    some.x[0] = *from;
  }
  return some;
}
template <int kWide, class Stored>
__device__ void store_some(Stored* to, const Some<kWide>& some) {
  if constexpr (kWide == 1) *to = from_float<Stored>(some.x[0]);
  else if constexpr (sizeof(Stored) == sizeof(float))
    *reinterpret_cast<float4*>(to) = {some.x[0], some.x[1], some.x[2], some.x[3]};
  else {
    Stored values[] = {from_float<Stored>(some.x[0]), from_float<Stored>(some.x[1]),
                       from_float<Stored>(some.x[2]), from_float<Stored>(some.x[3])};
    *reinterpret_cast<uint2*>(to) = *reinterpret_cast<const uint2*>(values);
  }
}

// Values as they are kept, which is what the cache gets.
template <int kWide>
__device__ Some<kWide> keep(void* kept, bool rounded, std::int64_t at, Some<kWide> some) {
  if (kept == nullptr) return some;
  if (!rounded) {
    store_some(static_cast<float*>(kept) + at, some);
    return some;
  }
#pragma unroll
  for (float& x : some.x) x = __bfloat162float(__float2bfloat16_rn(x));
  store_some(static_cast<bf16*>(kept) + at, some);
  return some;
}

template <int kWide>
__device__ bool is_finite(const Some<kWide>& some) {
  bool all = true;
#pragma unroll
  for (const float x : some.x) all = all && isfinite(x);
  return all;
}

// The halves of some pairs, rotated.
template <int kWide>
__device__ void rotate_some(Some<kWide>& a, Some<kWide>& b, const Some<kWide>& cos, const Some<kWide>& sin) {
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    const float2 pair = rotate_pair(a.x[j], b.x[j], cos.x[j], sin.x[j]);
    a.x[j] = pair.x;
    b.x[j] = pair.y;
  }
}

// Grid: rows, items, shares of a row. Pairs of keys and values, then pairs of queries, kWide of a head at a
// time. Numbers of a row's pairs are small: only places in a cache take 64 bits. Angles do not depend on the
// last kernel.
template <class Stored, int kWide>
__global__ void tokens_kernel(const __grid_constant__ TokenItems items) {
  let_next_begin();
  const TokenItem& item = items.list[blockIdx.y];
  const std::int64_t t = blockIdx.x, position = item.cache.rows + t;
  if (t >= item.T) return wait_for_last();
  const int half = static_cast<int>(items.shape.head_size) / 2, groups = static_cast<int>(items.shape.groups);
  const int rows = groups * half / kWide,
            all = rows + (item.q != nullptr ? static_cast<int>(items.shape.heads) * half / kWide : 0);
  const float* angles = items.angles + position * 2 * half;
  float* const queries = item.q + t * items.shape.heads * 2 * half;
  auto* keys = static_cast<Stored*>(item.cache.keys) + position * 2 * half;
  auto* values = static_cast<Stored*>(item.cache.values) + position * 2 * half;
  const auto look_at = [&](const Some<kWide>& a, const Some<kWide>& b, std::int32_t number) {
    if (items.note != nullptr && !(is_finite(a) && is_finite(b)))
      atomicMin(items.note, items.first_note + number);
  };
  bool waited = false;
  for (int p = static_cast<int>(blockIdx.z * blockDim.x + threadIdx.x); p < all;
       p += static_cast<int>(blockDim.x * gridDim.z)) {
    const int head = p * kWide / half, i = p * kWide % half;
    const auto cos = load_some<kWide>(angles + i), sin = load_some<kWide>(angles + half + i);
    if (!waited) wait_for_last();
    waited = true;
    if (p >= rows) {
      float* q = queries + (head - groups) * 2 * half + i;
      auto a = load_some<kWide>(q), b = load_some<kWide>(q + half);
      look_at(a, b, 0);
      rotate_some(a, b, cos, sin);
      store_some(q, a);
      store_some(q + half, b);
      continue;
    }
    const std::int64_t from = (t * groups + head) * 2 * half + i, to = head * item.cache.group_stride + i;
    const auto k = load_some<kWide>(item.k + from), other_k = load_some<kWide>(item.k + from + half);
    const auto v = load_some<kWide>(item.v + from), other_v = load_some<kWide>(item.v + from + half);
    look_at(k, other_k, 1);
    look_at(v, other_v, 2);
    auto a = keep(item.kept_k, item.kept_rounded, from, k);
    auto b = keep(item.kept_k, item.kept_rounded, from + half, other_k);
    rotate_some(a, b, cos, sin);
    store_some(keys + to, a);
    store_some(keys + to + half, b);
    store_some(values + to, keep(item.kept_v, item.kept_rounded, from, v));
    store_some(values + to + half, keep(item.kept_v, item.kept_rounded, from + half, other_v));
  }
}

// Codes are whole numbers, and so are their sums and differences: exact in f32, in any order.
__device__ float code_of(const std::uint8_t* codes, int at, bool nibbles) {
  if (!nibbles) return static_cast<float>(static_cast<std::int8_t>(codes[at]));
  return static_cast<float>((at % 2 == 0 ? codes[at / 2] & 15 : codes[at / 2] >> 4) - 8);
}

// A group is transformed in pieces, the largest power of two that fits first: the size of the piece with
// element `at` of `count`.
__device__ int piece_of(int at, int count) {
  int size = 64;
  for (int begin = 0;; begin += size) {
    while (size > count - begin) size /= 2;
    if (at < begin + size) return size;
  }
}

// A warp a group of 64: elements `lane` and lane + 32. A block a row.
__global__ void expand_kernel(ExpandRows job) {
  constexpr int kGroup = 64;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const auto* row = static_cast<const std::uint8_t*>(job.rows[blockIdx.x]);
  const std::int64_t code_bytes = job.nibbles ? (job.width + 1) / 2 : job.width;
  float* out = job.out + blockIdx.x * job.width;
  for (std::int64_t at = warp * kGroup; at < job.width; at += static_cast<std::int64_t>(blockDim.x) * 2) {
    const int count = static_cast<int>(min(static_cast<std::int64_t>(kGroup), job.width - at));
    const std::uint8_t* codes = row + (job.nibbles ? at / 2 : at);
    float x[2];
    int size[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const bool inside = lane + kWarp * i < count;
      x[i] = inside ? code_of(codes, lane + kWarp * i, job.nibbles) : 0.0f;
      size[i] = inside ? piece_of(lane + kWarp * i, count) : 1;
    }
#pragma unroll
    for (int half = 1; half < kWarp; half *= 2)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float other = __shfl_xor_sync(kAllLanes, x[i], half);
        if (half < size[i]) x[i] = (lane & half) == 0 ? x[i] + other : other - x[i];
      }
    if (size[0] == kGroup) {
      const float low = x[0], high = x[1];
      x[0] = low + high;
      x[1] = low - high;
    }
    const std::uint8_t* scale = row + code_bytes + at / kGroup * 2;
    const float factor = __uint_as_float(static_cast<std::uint32_t>(scale[0] | scale[1] << 8) << 16);
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (lane + kWarp * i < count)
        out[at + lane + kWarp * i] = x[i] * (factor / static_cast<float>(size[i]));
  }
}

}  // namespace

void append_tokens(Stream stream, const TokenItems& items) {
  std::int64_t rows = 0;
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  bool wide = items.shape.head_size % 8 == 0 && aligned(items.angles);
  for (int i = 0; i < items.count; ++i) {
    const TokenItem& item = items.list[i];
    rows = std::max(rows, item.T);
    for (const void* p : {static_cast<const void*>(item.q), static_cast<const void*>(item.k),
                          static_cast<const void*>(item.v), static_cast<const void*>(item.kept_k),
                          static_cast<const void*>(item.kept_v), static_cast<const void*>(item.cache.keys),
                          static_cast<const void*>(item.cache.values)})
      wide = wide && aligned(p);
  }
  if (rows == 0) return;
  const std::int64_t pairs = (items.shape.groups + items.shape.heads) * items.shape.head_size / 2,
                     blocks = (pairs / (wide ? 4 : 1) + kThreads - 1) / kThreads;
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(items.count),
                  static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, rows == 1 ? 16 : 2)));
  with_float(items.list[0].cache.dtype, [&]<class Stored>(Stored) {
    if (wide) launch(tokens_kernel<Stored, 4>, grid, kThreads, stream, 0, items);
    else launch(tokens_kernel<Stored, 1>, grid, kThreads, stream, 0, items);
  });
}

void expand_rows(Stream stream, const ExpandRows& job) {
  if (job.count <= 0 || job.width <= 0) return;
  const auto threads = static_cast<unsigned>(std::clamp<std::int64_t>((job.width + 63) / 64 * 32, 32, 256));
  expand_kernel<<<static_cast<unsigned>(job.count), threads, 0, stream>>>(job);
}

void append_rows(Stream stream, const AppendRows& job) {
  if (job.count <= 0) return;
  with_float(job.dtype, [&]<class Row>(Row) {
    with_float(job.cache.dtype, [&]<class Stored>(Stored) {
      launch(append_kernel<Row, Stored>, static_cast<unsigned>(job.count), threads_for(job.shape), stream, 0,
             job);
    });
  });
}

}  // namespace mplus::kernels::cuda
