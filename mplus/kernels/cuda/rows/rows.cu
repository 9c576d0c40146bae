// Copies that change the type, fills, embeddings, and the note of what is not finite.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

template <class Out, class In>
__global__ void convert_kernel(Out* out, std::int64_t out_stride, const In* in, std::int64_t in_stride,
                               std::int64_t cols, std::int64_t n) {
  wait_for_last();
  for (std::int64_t i = first_of_grid(); i < n; i += grid_size()) {
    const std::int64_t row = i / cols, col = i % cols;
    out[row * out_stride + col] = from_float<Out>(to_float(in[row * in_stride + col]));
  }
}

template <class T>
__device__ void store_rounded_quad(void* out, std::int64_t i, const float4& x) {
  const T four[] = {from_float<T>(x.x), from_float<T>(x.y), from_float<T>(x.z), from_float<T>(x.w)};
  static_cast<uint2*>(out)[i] = *reinterpret_cast<const uint2*>(four);
}

// blockIdx.y is one of the copies.
__global__ void copies_kernel(const __grid_constant__ Copies copies) {
  begin_in_turn();
  const Copies::Copy& copy = copies.list[blockIdx.y];
  const auto* in = reinterpret_cast<const float4*>(copy.in);
  for (std::int64_t i = first_of_grid(); i < copy.n / 4; i += grid_size()) {
    float4 x = in[i];
    if (copy.plus != nullptr) {
      const float4 plus = reinterpret_cast<const float4*>(copy.plus)[i % (copy.width / 4)];
      x = {x.x + plus.x, x.y + plus.y, x.z + plus.z, x.w + plus.w};
    }
    if (copy.dtype == DType::f32) static_cast<float4*>(copy.out)[i] = x;
    else if (copy.dtype == DType::bf16) store_rounded_quad<bf16>(copy.out, i, x);
    else store_rounded_quad<f16>(copy.out, i, x);
  }
}

template <class T>
__global__ void round_kernel(uint2* out, const float4* in, std::int64_t quarters) {
  begin_in_turn();
  for (std::int64_t i = first_of_grid(); i < quarters; i += grid_size()) {
    const float4 x = in[i];
    out[i] = {pack<T>(x.x, x.y), pack<T>(x.z, x.w)};
  }
}

template <class T>
__global__ void round_rest_kernel(T* out, const float* in, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= n) return;
  const std::uint32_t both = pack<T>(in[i], 0.0f);
  out[i] = *reinterpret_cast<const T*>(&both);
}

__global__ void fill_kernel(float* out, std::int64_t n, float value) {
  for (std::int64_t i = first_of_grid(); i < n; i += grid_size()) out[i] = value;
}

// blockIdx.y is one of the notes.
__global__ void finite_kernel(std::int32_t* to, const __grid_constant__ Notes notes) {
  begin_in_turn();
  const Notes::Note& note = notes.list[blockIdx.y];
  bool bad = false;
  if (note.n % 4 == 0 && reinterpret_cast<std::uintptr_t>(note.x) % 16 == 0) {
    const auto* quads = reinterpret_cast<const float4*>(note.x);
#pragma unroll 4
    for (std::int64_t i = first_of_grid(); i < note.n / 4; i += grid_size()) {
      const float4 x = quads[i];
      bad |= !(isfinite(x.x) && isfinite(x.y) && isfinite(x.z) && isfinite(x.w));
    }
  } else {
    for (std::int64_t i = first_of_grid(); i < note.n; i += grid_size()) bad |= !isfinite(note.x[i]);
  }
  if (bad) atomicMin(to, note.number);
}

__global__ void difference_kernel(std::int32_t* to, const std::uint32_t* a, const std::uint32_t* b,
                                  std::int64_t n) {
  bool differ = false;
  for (std::int64_t i = first_of_grid(); i < n; i += grid_size()) differ |= a[i] != b[i];
  if (differ) *to = 1;
}

__global__ void gather_kernel(std::uint16_t* out, const void* const* rows, std::int64_t words) {
  const std::int64_t r = blockIdx.x;
  const auto* row = static_cast<const std::uint16_t*>(rows[r]);
  for (std::int64_t i = threadIdx.x; i < words; i += blockDim.x) out[r * words + i] = row[i];
}

// blockIdx.y is one of the jobs, blockIdx.x a row.
template <class Word>
__global__ void scatter_kernel(const ScatterJob* jobs) {
  begin_in_turn();
  const ScatterJob job = jobs[blockIdx.y];
  const std::int64_t r = blockIdx.x, words = job.size_bytes / static_cast<std::int64_t>(sizeof(Word));
  if (r >= job.n) return;
  const auto* from = static_cast<const Word*>(job.from) + r * words;
  auto* to = static_cast<Word*>(job.to) + job.places[r] * words;
  for (std::int64_t i = threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
}

template <class T>
__global__ void embed_kernel(float* out, const T* table, std::int64_t stride, std::int64_t d,
                             const std::int32_t* ids) {
  begin_in_turn();
  const std::int64_t t = blockIdx.x;
  const T* row = table + ids[t] * stride;
  for (std::int64_t i = threadIdx.x; i < d; i += blockDim.x) out[t * d + i] = to_float(row[i]);
}

}  // namespace

bool kernels_fit() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, fill_kernel) == cudaSuccess;
}

void convert(Stream stream, void* out, DType out_dtype, std::int64_t out_stride, const Rows2d& in) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 18;  // no weights: it need not wait its turn to begin
  const std::int64_t n = in.rows * in.cols;
  if (n <= 0) return;
  with_float(out_dtype, [&]<class Out>(Out) {
    with_float(in.dtype, [&]<class In>(In) {
      auto* to = static_cast<Out*>(out);
      auto* from = static_cast<const In*>(in.data);
      if (n <= kSmall)
        launch(convert_kernel<Out, In>, blocks_for(n), kThreads, stream, 0, to, out_stride, from, in.stride,
               in.cols, n);
      else
        convert_kernel<<<blocks_for(n), kThreads, 0, stream>>>(to, out_stride, from, in.stride, in.cols, n);
    });
  });
}

void copy_several(Stream stream, const Copies& copies) {
  std::int64_t most = 0;
  for (int i = 0; i < copies.count; ++i) most = std::max(most, copies.list[i].n);
  if (most == 0) return;
  launch(copies_kernel, dim3(blocks_for(most / 4), static_cast<unsigned>(copies.count)), kThreads, stream, 0,
         copies);
}

void round_operand(Stream stream, void* out, DType type, const float* in, std::int64_t n) {
  const std::int64_t quarters = n / 4, done = quarters * 4;
  with_half(type, [&]<class T>(T) {
    if (quarters > 0)
      launch(round_kernel<T>, blocks_for(quarters), kThreads, stream, 0, static_cast<uint2*>(out),
             reinterpret_cast<const float4*>(in), quarters);
    if (n > done)
      round_rest_kernel<<<1, kWarp, 0, stream>>>(static_cast<T*>(out) + done, in + done,
                                                 static_cast<int>(n - done));
  });
}

void fill(Stream stream, float* out, std::int64_t n, float value) {
  if (n > 0) fill_kernel<<<blocks_for(n), kThreads, 0, stream>>>(out, n, value);
}

void note_finite(Stream stream, std::int32_t* to, const Notes& notes) {
  std::int64_t most = 0;
  for (int i = 0; i < notes.count; ++i) most = std::max(most, notes.list[i].n);
  if (most == 0) return;
  constexpr std::int64_t kEach = 8;  // fours of a thread
  launch(finite_kernel,
         dim3(blocks_for((most + 4 * kEach - 1) / (4 * kEach)), static_cast<unsigned>(notes.count)), kThreads,
         stream, 0, to, notes);
}

void note_difference(Stream stream, std::int32_t* to, const float* a, const float* b, std::int64_t n) {
  difference_kernel<<<blocks_for(n), kThreads, 0, stream>>>(to, reinterpret_cast<const std::uint32_t*>(a),
                                                            reinterpret_cast<const std::uint32_t*>(b), n);
}

void gather_bytes(Stream stream, void* out, const void* const* rows, std::int64_t n,
                  std::int64_t size_bytes) {
  if (n <= 0) return;
  gather_kernel<<<static_cast<unsigned>(n), 128, 0, stream>>>(static_cast<std::uint16_t*>(out), rows,
                                                              size_bytes / 2);
}

void scatter_rows(Stream stream, const ScatterJob* jobs, std::int64_t count, std::int64_t most_rows,
                  bool quads) {
  if (count <= 0 || most_rows <= 0) return;
  const dim3 grid(static_cast<unsigned>(most_rows), static_cast<unsigned>(count));
  if (quads) launch(scatter_kernel<uint4>, grid, 128, stream, 0, jobs);
  else launch(scatter_kernel<std::uint16_t>, grid, 128, stream, 0, jobs);
}

void embed(Stream stream, float* out, const Rows2d& table, const std::int32_t* ids, std::int64_t T) {
  if (T <= 0 || table.cols <= 0) return;
  with_float(table.dtype, [&]<class W>(W) {
    launch(embed_kernel<W>, static_cast<unsigned>(T), kThreads, stream, 0, out,
           static_cast<const W*>(table.data), table.stride, table.cols, ids);
  });
}

}  // namespace mplus::kernels::cuda
