// Stored rows into an attention cache: keys are rotated in f32, then both are rounded to the cache's type.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device.cuh"
#include "mplus/kernels/cuda/dispatch.cuh"
#include "mplus/kernels/cuda/launch.h"

namespace mplus::kernels::cuda {
namespace {

template <class Row, class Stored>
__device__ void append_row(const AppendRows& job, std::int64_t r) {
  const std::int64_t half = job.shape.head_size / 2, position = job.cache.rows + r;
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
    const float a = to_float(k[from]), b = to_float(k[from + half]);
    auto* keys = static_cast<Stored*>(job.cache.keys);
    auto* values = static_cast<Stored*>(job.cache.values);
    keys[to] = from_float<Stored>(a * cos[i] - b * sin[i]);
    keys[to + half] = from_float<Stored>(b * cos[i] + a * sin[i]);
    values[to] = from_float<Stored>(to_float(v[from]));
    values[to + half] = from_float<Stored>(to_float(v[from + half]));
  }
}

template <class Row, class Stored>
__global__ void append_kernel(AppendRows job) {
  begin_in_turn();
  append_row<Row, Stored>(job, blockIdx.x);
}

// blockIdx.y is one of the jobs.
template <class Row, class Stored>
__global__ void append_batch_kernel(const __grid_constant__ AppendBatch batch) {
  begin_in_turn();
  const AppendRows& job = batch.list[blockIdx.y];
  if (static_cast<std::int64_t>(blockIdx.x) < job.count) append_row<Row, Stored>(job, blockIdx.x);
}

unsigned threads_for(const Shape& shape) {
  const std::int64_t pairs = shape.groups * shape.head_size / 2;
  return static_cast<unsigned>(std::clamp<std::int64_t>((pairs + 31) / 32 * 32, 32, 256));
}

// A value as it is kept, which is what the cache gets.
__device__ float keep(void* kept, bool rounded, std::int64_t at, float x) {
  if (kept == nullptr) return x;
  if (!rounded) return static_cast<float*>(kept)[at] = x;
  const bf16 value = __float2bfloat16_rn(x);
  static_cast<bf16*>(kept)[at] = value;
  return __bfloat162float(value);
}

// Grid: rows, items, shares of a row. Pairs of keys and values, then pairs of queries. Numbers of a row's
// pairs are small: only places in a cache take 64 bits.
template <class Stored>
__global__ void tokens_kernel(const __grid_constant__ TokenItems items) {
  begin_in_turn();
  const TokenItem& item = items.list[blockIdx.y];
  const std::int64_t t = blockIdx.x, position = item.cache.rows + t;
  if (t >= item.T) return;
  const int half = static_cast<int>(items.shape.head_size) / 2;
  const int rows = static_cast<int>(items.shape.groups) * half,
            all = rows + static_cast<int>(items.shape.heads) * half;
  const float* cos = items.angles + position * 2 * half;
  const float* sin = cos + half;
  float* const queries = item.q + t * items.shape.heads * 2 * half;
  auto* keys = static_cast<Stored*>(item.cache.keys) + position * 2 * half;
  auto* values = static_cast<Stored*>(item.cache.values) + position * 2 * half;
  const auto look_at = [&](float a, float b, std::int32_t number) {
    if (items.note != nullptr && !(isfinite(a) && isfinite(b)))
      atomicMin(items.note, items.first_note + number);
  };
  for (int p = static_cast<int>(blockIdx.z * blockDim.x + threadIdx.x); p < all;
       p += static_cast<int>(blockDim.x * gridDim.z)) {
    const int head = p / half, i = p % half;
    if (p >= rows) {
      float* q = queries + (head - static_cast<int>(items.shape.groups)) * 2 * half + i;
      const float a = q[0], b = q[half];
      look_at(a, b, 0);
      q[0] = a * cos[i] - b * sin[i];
      q[half] = b * cos[i] + a * sin[i];
      continue;
    }
    const std::int64_t from = (t * items.shape.groups + head) * 2 * half + i,
                       to = head * item.cache.group_stride + i;
    look_at(item.k[from], item.k[from + half], 1);
    look_at(item.v[from], item.v[from + half], 2);
    const float a = keep(item.kept_k, item.kept_rounded, from, item.k[from]);
    const float b = keep(item.kept_k, item.kept_rounded, from + half, item.k[from + half]);
    keys[to] = from_float<Stored>(a * cos[i] - b * sin[i]);
    keys[to + half] = from_float<Stored>(b * cos[i] + a * sin[i]);
    values[to] = from_float<Stored>(keep(item.kept_v, item.kept_rounded, from, item.v[from]));
    values[to + half] =
        from_float<Stored>(keep(item.kept_v, item.kept_rounded, from + half, item.v[from + half]));
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
  for (int i = 0; i < items.count; ++i) rows = std::max(rows, items.list[i].T);
  if (rows == 0) return;
  const std::int64_t pairs = (items.shape.groups + items.shape.heads) * items.shape.head_size / 2;
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(items.count),
                  static_cast<unsigned>(std::clamp<std::int64_t>(pairs / kThreads, 1, 8)));
  with_float(items.list[0].cache.dtype,
             [&]<class Stored>(Stored) { launch(tokens_kernel<Stored>, grid, kThreads, stream, 0, items); });
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

void append_rows(Stream stream, const AppendBatch& batch) {
  std::int64_t most = 0;
  for (int i = 0; i < batch.count; ++i) most = std::max(most, batch.list[i].count);
  if (most == 0) return;
  const AppendRows& first = batch.list[0];
  with_float(first.dtype, [&]<class Row>(Row) {
    with_float(first.cache.dtype, [&]<class Stored>(Stored) {
      launch(append_batch_kernel<Row, Stored>,
             dim3(static_cast<unsigned>(most), static_cast<unsigned>(batch.count)), threads_for(first.shape),
             stream, 0, batch);
    });
  });
}

}  // namespace mplus::kernels::cuda
