// CUDA kernels of train/model/layers/fused.cpp, over bfloat16 rows with float arithmetic. Plain pointers, so
// that no torch header goes through nvcc. All launch on the given stream and return at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace mplus::train::cuda {

using bf16 = __nv_bfloat16;

// y = x · rsqrt(mean x² + ε) · weight for each row of d (even) numbers; inverse [rows] keeps the rsqrt for
// the way back.
struct NormedRows {
  const bf16* x;
  const float* weight;
  std::int64_t rows;
  int d;
};
void rms_norm(const NormedRows& of, float epsilon, bf16* y, float* inverse, cudaStream_t stream);
// dx = plus + …; plus may be null.
void rms_norm_backward(const NormedRows& of, const float* inverse, const bf16* dy, const bf16* plus, bf16* dx,
                       cudaStream_t stream);

// out = silu(gate) · up; gate_up [rows, 2·width] holds both halves of a row side by side.
void swiglu(const bf16* gate_up, bf16* out, std::int64_t rows, int width, cudaStream_t stream);
void swiglu_backward(const bf16* dout, const bf16* gate_up, bf16* dgate_up, std::int64_t rows, int width,
                     cudaStream_t stream);

struct RotatedRows {
  const bf16* from;
  std::int64_t from_streams, from_rows;
  bf16* to;
  std::int64_t to_streams, to_rows;
};
struct Angles {
  const float *cos, *sin;
  float sign;
};
struct HeadShape {
  std::int64_t streams, T;
  int heads, e;
};
// Rotates element i of every head with element i + e/2 by the angles of the row's position (row t of a stream
// stands at position t of cos and sin, [T, e/2]); `sign` −1 rotates back. Streams and rows of `from` and `to`
// are so many numbers apart, heads lie side by side.
void rotate(const RotatedRows& rows, const Angles& by, const HeadShape& shape, cudaStream_t stream);

}  // namespace mplus::train::cuda
