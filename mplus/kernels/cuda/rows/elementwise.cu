// Norms, activations, rotations and pooling. Sums go in one fixed order: a row's bits depend on that row
// alone.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr std::int64_t kWarpWidth = 512;  // rows up to this long are a warp's work, longer ones a block's

__device__ float square_sum(const float* x, std::int64_t d, int first, int step) {
  float sum = 0;
  if (d % 4 == 0 && reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
    for (std::int64_t i = first; i < d / 4; i += step) {
      const float4 v = reinterpret_cast<const float4*>(x)[i];
      sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    return sum;
  }
  for (std::int64_t i = first; i < d; i += step) sum += x[i] * x[i];
  return sum;
}

// Four results as operands, the i-th four of all.
__device__ void store_rounded(const Rounded& rounded, std::int64_t i, const float4& x) {
  if (rounded.to == nullptr) return;
  auto* to = static_cast<uint2*>(rounded.to) + i;
  if (rounded.dtype == DType::bf16) *to = {pack<bf16>(x.x, x.y), pack<bf16>(x.z, x.w)};
  else *to = {pack<f16>(x.x, x.y), pack<f16>(x.z, x.w)};
}

// Row t of the job, by the threads first, first + step, …
__device__ void scale_row(const RmsNorm& job, std::int64_t t, float scale, int first, int step) {
  const std::int64_t d = job.d;
  float* out = job.out == nullptr ? nullptr : job.out + t * d;
  const float *x = job.x + t * d, *weight = job.weight;
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (d % 4 == 0 && aligned(out) && aligned(x) && aligned(weight)) {
    for (std::int64_t i = first; i < d / 4; i += step) {
      const float4 v = reinterpret_cast<const float4*>(x)[i], w = reinterpret_cast<const float4*>(weight)[i];
      const float4 result = {v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w};
      if (out != nullptr) reinterpret_cast<float4*>(out)[i] = result;
      store_rounded(job.rounded, t * (d / 4) + i, result);
    }
    return;
  }
  for (std::int64_t i = first; i < d; i += step) out[i] = x[i] * scale * weight[i];
}

__device__ float norm_scale(float sum, std::int64_t d, float epsilon) {
  return 1.0f / sqrtf(sum / static_cast<float>(d) + epsilon);
}

__global__ void rms_norm_short(RmsNorm job) {
  begin_in_turn();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t t = first_of_grid() / kWarp;
  if (t >= job.T) return;
  const float* x = job.x + t * job.d;
  const float sum = warp_sum(square_sum(x, job.d, lane, kWarp));
  scale_row(job, t, norm_scale(sum, job.d, job.epsilon), lane, kWarp);
}

__global__ void rms_norm_long(RmsNorm job) {
  __shared__ float shared[kWarp];
  begin_in_turn();
  const std::int64_t t = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  const float* x = job.x + t * job.d;
  const float sum = block_sum(square_sum(x, job.d, thread, step), shared);
  scale_row(job, t, norm_scale(sum, job.d, job.epsilon), thread, step);
}

// A row of at most four elements a thread is read once, and the weights before the last kernel has ended;
// with the bits of rms_norm_long. kEach: a thread does the work of so many, those a block apart.
template <int kEach>
__global__ void rms_norm_quads(RmsNorm job) {
  __shared__ float shared[kWarp];
  const int quads = static_cast<int>(job.d / 4), thread = static_cast<int>(threadIdx.x),
            step = static_cast<int>(blockDim.x), lane = thread % kWarp;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * quads;
  float4 w[kEach], v[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = thread + i * step;
    w[i] = at < quads ? reinterpret_cast<const float4*>(job.weight)[at] : float4{};
  }
  begin_in_turn();
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = thread + i * step;
    v[i] = at < quads ? reinterpret_cast<const float4*>(job.x)[row + at] : float4{};
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const float sum = warp_sum(v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w);
    if (lane == 0) shared[(thread + i * step) / kWarp] = sum;
  }
  __syncthreads();
  const float sum = warp_sum(lane < kEach * step / kWarp ? shared[lane] : 0.0f);
  const float scale = norm_scale(sum, job.d, job.epsilon);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = thread + i * step;
    if (at >= quads) return;
    const float4 result = {v[i].x * scale * w[i].x, v[i].y * scale * w[i].y, v[i].z * scale * w[i].z,
                           v[i].w * scale * w[i].w};
    if (job.out != nullptr) reinterpret_cast<float4*>(job.out)[row + at] = result;
    store_rounded(job.rounded, row + at, result);
  }
}

__device__ float silu_of(float x) { return x / (1.0f + expf(-x)); }

__global__ void swiglu_kernel(Swiglu job) {
  begin_in_turn();
  for (std::int64_t i = first_of_grid(); i < job.n; i += grid_size())
    job.out[i] = silu_of(job.gate[i]) * job.up[i];
}

__global__ void swiglu_quads(Swiglu job) {
  begin_in_turn();
  for (std::int64_t i = first_of_grid(); i < job.n / 4; i += grid_size()) {
    const float4 g = reinterpret_cast<const float4*>(job.gate)[i],
                 u = reinterpret_cast<const float4*>(job.up)[i];
    const float4 result = {silu_of(g.x) * u.x, silu_of(g.y) * u.y, silu_of(g.z) * u.z, silu_of(g.w) * u.w};
    reinterpret_cast<float4*>(job.out)[i] = result;
    store_rounded(job.rounded, i, result);
  }
}

__global__ void silu_kernel(float* x, std::int64_t n) {
  begin_in_turn();
  for (std::int64_t i = first_of_grid(); i < n; i += grid_size()) x[i] = silu_of(x[i]);
}

__global__ void add_row_kernel(float* x, const float* row, std::int64_t n, std::int64_t d) {
  begin_in_turn();
  for (std::int64_t i = first_of_grid(); i < n; i += grid_size()) x[i] += row[i % d];
}

__global__ void pool_dots(float* shares, const float* x, const float* vector, std::int64_t T,
                          std::int64_t d) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t t = first_of_grid() / kWarp;
  if (t >= T) return;
  float sum = 0;
  for (std::int64_t i = lane; i < d; i += kWarp) sum += x[t * d + i] * vector[i];
  sum = warp_sum(sum);
  if (lane == 0) shares[t] = sum;
}

__global__ void softmax_kernel(float* x, std::int64_t n) {
  __shared__ float shared[kWarp];
  float most = -INFINITY, sum = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, x[i]);
  most = block_max(most, shared);
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += x[i] = expf(x[i] - most);
  sum = block_sum(sum, shared);
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) x[i] /= sum;
}

__global__ void rope_kernel(Rope job) {
  begin_in_turn();
  const std::int64_t t = blockIdx.x, pairs = job.heads * job.half;
  const float* cos = job.angles + (job.first + t) * 2 * job.half;
  const float* sin = cos + job.half;
  float* row = job.x + t * job.stride;
  for (std::int64_t p = threadIdx.x + static_cast<std::int64_t>(blockIdx.y) * blockDim.x; p < pairs;
       p += static_cast<std::int64_t>(blockDim.x) * gridDim.y) {
    const std::int64_t i = p % job.half;
    float* at = row + p / job.half * 2 * job.half + i;
    const float2 pair = rotate_pair(at[0], at[job.half], cos[i], sin[i]);
    at[0] = pair.x;
    at[job.half] = pair.y;
  }
}

}  // namespace

void rms_norm(Stream stream, const RmsNorm& job) {
  if (job.T <= 0 || job.d <= 0) return;
  if (job.d <= kWarpWidth) {
    const std::int64_t warps = kThreads / kWarp;
    launch(rms_norm_short, static_cast<unsigned>((job.T + warps - 1) / warps), kThreads, stream, 0, job);
    return;
  }
  // So many threads that each has few elements, by the length of a row alone.
  const unsigned threads = job.d <= 2048 ? 256 : 1024;
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  const bool quads =
      job.d % 4 == 0 && job.d / 4 <= threads && aligned(job.out) && aligned(job.x) && aligned(job.weight);
  constexpr std::int64_t kManyRows = 64;  // which keep the device busy with few threads each
  constexpr int kEach = 4;
  if (quads && threads == 1024 && job.T >= kManyRows)
    launch(rms_norm_quads<kEach>, static_cast<unsigned>(job.T), threads / kEach, stream, 0, job);
  else
    launch(quads ? rms_norm_quads<1> : rms_norm_long, static_cast<unsigned>(job.T), threads, stream, 0, job);
}

void swiglu(Stream stream, const Swiglu& job) {
  if (job.n <= 0) return;
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (job.n % 4 == 0 && aligned(job.out) && aligned(job.gate) && aligned(job.up))
    launch(swiglu_quads, blocks_for(job.n / 4), kThreads, stream, 0, job);
  else launch(swiglu_kernel, blocks_for(job.n), kThreads, stream, 0, job);
}

void silu(Stream stream, float* x, std::int64_t n) {
  if (n > 0) launch(silu_kernel, blocks_for(n), kThreads, stream, 0, x, n);
}

void add_row(Stream stream, float* x, const float* row, std::int64_t T, std::int64_t d) {
  if (T * d > 0) launch(add_row_kernel, blocks_for(T * d), kThreads, stream, 0, x, row, T * d, d);
}

void pooling_shares(Stream stream, float* shares, const Rows2d& x, const float* vector) {
  if (x.rows <= 0) return;
  const std::int64_t warps = kThreads / kWarp;
  pool_dots<<<static_cast<unsigned>((x.rows + warps - 1) / warps), kThreads, 0, stream>>>(
      shares, static_cast<const float*>(x.data), vector, x.rows, x.cols);
  softmax_kernel<<<1, 1024, 0, stream>>>(shares, x.rows);
}

void rope(Stream stream, const Rope& job) {
  const std::int64_t pairs = job.heads * job.half;
  if (job.T <= 0 || pairs <= 0) return;
  const dim3 grid(static_cast<unsigned>(job.T),
                  static_cast<unsigned>(std::min<std::int64_t>(8, (pairs + 255) / 256)));
  launch(rope_kernel, grid, kThreads, stream, 0, job);
}

}  // namespace mplus::kernels::cuda
