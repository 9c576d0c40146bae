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
  const Row* k =
      job.k_rows ? static_cast<const Row*>(job.k_rows[r]) : static_cast<const Row*>(job.k) + r * job.k_stride;
  const Row* v =
      job.v_rows ? static_cast<const Row*>(job.v_rows[r]) : static_cast<const Row*>(job.v) + r * job.v_stride;
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

}  // namespace

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
