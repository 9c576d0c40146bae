#include "mplus/train/gpu/fused_kernels.h"

namespace mplus::train::cuda {
namespace {

constexpr int kWarp = 32, kWarps = 8;  // a warp a row, eight rows a block
constexpr int kThreads = 256;

unsigned blocks_for(std::int64_t items, int per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

__device__ float warp_sum(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__device__ float2 load_pair(const bf16* at) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(at));
}
__device__ void store_pair(bf16* at, float a, float b) {
  *reinterpret_cast<__nv_bfloat162*>(at) = __floats2bfloat162_rn(a, b);
}

__global__ void rms_norm_kernel(NormedRows of, float epsilon, bf16* y, float* inverse) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (row >= of.rows) return;
  const int d = of.d;
  const bf16* x = of.x + row * d;
  const float* weight = of.weight;
  y += row * d;
  float squares = 0;
  for (int i = 2 * threadIdx.x; i < d; i += 2 * kWarp) {
    const float2 v = load_pair(x + i);
    squares += v.x * v.x + v.y * v.y;
  }
  const float scale = rsqrtf(warp_sum(squares) / d + epsilon);
  if (threadIdx.x == 0) inverse[row] = scale;
  for (int i = 2 * threadIdx.x; i < d; i += 2 * kWarp) {
    const float2 v = load_pair(x + i);
    store_pair(y + i, v.x * scale * weight[i], v.y * scale * weight[i + 1]);
  }
}

// dx = plus + s·(w·dy) − x·s³·mean(w·dy·x)
__global__ void rms_norm_backward_kernel(NormedRows of, const float* inverse, const bf16* dy,
                                         const bf16* plus, bf16* dx) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (row >= of.rows) return;
  const int d = of.d;
  const bf16* x = of.x + row * d;
  const float* weight = of.weight;
  dy += row * d;
  dx += row * d;
  if (plus) plus += row * d;
  float along = 0;
  for (int i = 2 * threadIdx.x; i < d; i += 2 * kWarp) {
    const float2 g = load_pair(dy + i), v = load_pair(x + i);
    along += g.x * weight[i] * v.x + g.y * weight[i + 1] * v.y;
  }
  const float s = inverse[row], back = warp_sum(along) * s * s * s / d;
  for (int i = 2 * threadIdx.x; i < d; i += 2 * kWarp) {
    const float2 g = load_pair(dy + i), v = load_pair(x + i);
    const float2 other = plus ? load_pair(plus + i) : make_float2(0, 0);
    store_pair(dx + i, other.x + g.x * weight[i] * s - v.x * back,
               other.y + g.y * weight[i + 1] * s - v.y * back);
  }
}

__global__ void swiglu_kernel(const bf16* gate_up, bf16* out, std::int64_t rows, int width) {
  const std::int64_t at = 2 * (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  if (at >= rows * width) return;
  const std::int64_t row = at / width, i = at % width;
  const float2 g = load_pair(gate_up + row * 2 * width + i);
  const float2 u = load_pair(gate_up + row * 2 * width + width + i);
  store_pair(out + at, g.x / (1 + __expf(-g.x)) * u.x, g.y / (1 + __expf(-g.y)) * u.y);
}

__global__ void swiglu_backward_kernel(const bf16* dout, const bf16* gate_up, bf16* dgate_up,
                                       std::int64_t rows, int width) {
  const std::int64_t at = 2 * (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  if (at >= rows * width) return;
  const std::int64_t gate = at / width * 2 * width + at % width, up = gate + width;
  const float2 y = load_pair(dout + at), g = load_pair(gate_up + gate), u = load_pair(gate_up + up);
  const auto sigmoid = [](float x) { return 1 / (1 + __expf(-x)); };
  const float sx = sigmoid(g.x), sy = sigmoid(g.y);
  store_pair(dgate_up + gate, y.x * u.x * sx * (1 + g.x * (1 - sx)), y.y * u.y * sy * (1 + g.y * (1 - sy)));
  store_pair(dgate_up + up, y.x * g.x * sx, y.y * g.y * sy);
}

__global__ void rotate_kernel(RotatedRows rows, Angles by, HeadShape shape, std::int64_t items) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= items) return;
  const int half = shape.e / 2, T = static_cast<int>(shape.T);
  const int i = static_cast<int>(at % half), head = static_cast<int>(at / half % shape.heads);
  const std::int64_t row = at / half / shape.heads, b = row / T, t = row % T, angle = t * half + i;
  const bf16* x = rows.from + b * rows.from_streams + t * rows.from_rows + head * 2 * half + i;
  bf16* y = rows.to + b * rows.to_streams + t * rows.to_rows + head * 2 * half + i;
  const float u = __bfloat162float(x[0]), v = __bfloat162float(x[half]);
  const float c = by.cos[angle], s = by.sign * by.sin[angle];
  y[0] = __float2bfloat16(u * c - v * s);
  y[half] = __float2bfloat16(v * c + u * s);
}

}  // namespace

void rms_norm(const NormedRows& of, float epsilon, bf16* y, float* inverse, cudaStream_t stream) {
  if (of.rows == 0) return;
  rms_norm_kernel<<<blocks_for(of.rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(of, epsilon, y, inverse);
}

void rms_norm_backward(const NormedRows& of, const float* inverse, const bf16* dy, const bf16* plus, bf16* dx,
                       cudaStream_t stream) {
  if (of.rows == 0) return;
  rms_norm_backward_kernel<<<blocks_for(of.rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(of, inverse, dy,
                                                                                            plus, dx);
}

void swiglu(const bf16* gate_up, bf16* out, std::int64_t rows, int width, cudaStream_t stream) {
  if (rows == 0) return;
  swiglu_kernel<<<blocks_for(rows * width / 2, kThreads), kThreads, 0, stream>>>(gate_up, out, rows, width);
}

void swiglu_backward(const bf16* dout, const bf16* gate_up, bf16* dgate_up, std::int64_t rows, int width,
                     cudaStream_t stream) {
  if (rows == 0) return;
  swiglu_backward_kernel<<<blocks_for(rows * width / 2, kThreads), kThreads, 0, stream>>>(
      dout, gate_up, dgate_up, rows, width);
}

void rotate(const RotatedRows& rows, const Angles& by, const HeadShape& shape, cudaStream_t stream) {
  const std::int64_t items = shape.streams * shape.T * shape.heads * (shape.e / 2);
  if (items == 0) return;
  rotate_kernel<<<blocks_for(items, kThreads), kThreads, 0, stream>>>(rows, by, shape, items);
}

}  // namespace mplus::train::cuda
