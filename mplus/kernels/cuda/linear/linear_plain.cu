// Products in f32, for any size and type of weights: the exact numerics, and shapes that the matrix
// instruction does not take. An element is a sum in an order that follows from the number of inputs alone.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

__device__ void store(const Product& product, std::int64_t t, std::int64_t output, float sum) {
  float* out = product.out + t * product.out_stride + output;
  *out = (product.accumulate ? *out : 0.0f) + product.scale * sum;
}

// Many rows: 64 rows of x and 64 of w in a block, a square of four by four in a thread.
constexpr int kSide = 64, kDepth = 16, kSquare = 4, kSquares = kSide / kSquare;

// [depth][row] of 64 rows of a matrix, zeros behind its ends.
template <class T>
__device__ void load_tile(float (&tile)[kDepth][kSide + 1], const T* from, std::int64_t first,
                          std::int64_t rows, std::int64_t cols, std::int64_t at) {
  for (int i = static_cast<int>(threadIdx.x); i < kSide * kDepth; i += kSquares * kSquares) {
    const int row = i / kDepth, depth = i % kDepth;
    const bool inside = first + row < rows && at + depth < cols;
    tile[depth][row] = inside ? to_float(from[(first + row) * cols + at + depth]) : 0.0f;
  }
}

template <class W>
__global__ void __launch_bounds__(kSquares* kSquares)
    tile_kernel(Product product, const float* x, std::int64_t T, std::int64_t inputs) {
  __shared__ float rows[kDepth][kSide + 1], columns[kDepth][kSide + 1];
  const std::int64_t t0 = static_cast<std::int64_t>(blockIdx.y) * kSide;
  const std::int64_t o0 = static_cast<std::int64_t>(blockIdx.x) * kSide;
  const int a = static_cast<int>(threadIdx.x) / kSquares, b = static_cast<int>(threadIdx.x) % kSquares;
  float sums[kSquare][kSquare] = {};
  for (std::int64_t at = 0; at < inputs; at += kDepth) {
    load_tile(rows, x, t0, T, inputs, at);
    load_tile(columns, static_cast<const W*>(product.w), o0, product.outputs, inputs, at);
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth)
#pragma unroll
      for (int i = 0; i < kSquare; ++i)
#pragma unroll
        for (int j = 0; j < kSquare; ++j)
          sums[i][j] = fmaf(rows[depth][a + i * kSquares], columns[depth][b + j * kSquares], sums[i][j]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kSquare; ++i)
#pragma unroll
    for (int j = 0; j < kSquare; ++j) {
      const std::int64_t t = t0 + a + i * kSquares, output = o0 + b + j * kSquares;
      if (t < T && output < product.outputs) store(product, t, output, sums[i][j]);
    }
}

// Few rows: an output is a block's, or eight lanes' where its inputs are few.
constexpr int kFewRows = 8, kFewThreads = 128, kFewLanes = 8;
constexpr std::int64_t kFewInputs = 128;

struct FewRows {
  const float* x;
  int n;
  std::int64_t inputs;
};

template <class W>
__device__ void add_inputs(float (&sums)[kFewRows], const W* w, FewRows rows, int first, int step) {
  for (std::int64_t i = first; i < rows.inputs; i += step) {
    const float weight = to_float(w[i]);
#pragma unroll
    for (int t = 0; t < kFewRows; ++t)
      if (t < rows.n) sums[t] = fmaf(weight, rows.x[t * rows.inputs + i], sums[t]);
  }
}

template <class W>
__global__ void row_kernel(Product product, const float* x, std::int64_t T, std::int64_t inputs) {
  __shared__ float shared[kWarp];
  const std::int64_t output = blockIdx.x, t0 = static_cast<std::int64_t>(blockIdx.y) * kFewRows;
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(kFewRows), T - t0));
  float sums[kFewRows] = {};
  add_inputs(sums, static_cast<const W*>(product.w) + output * inputs, {x + t0 * inputs, rows, inputs},
             static_cast<int>(threadIdx.x), kFewThreads);
#pragma unroll
  for (int t = 0; t < kFewRows; ++t) {
    if (t >= rows) break;
    const float sum = block_sum(sums[t], shared);
    if (threadIdx.x == 0) store(product, t0 + t, output, sum);
  }
}

template <class W>
__global__ void lanes_kernel(Product product, const float* x, std::int64_t T, std::int64_t inputs) {
  const int lane = static_cast<int>(threadIdx.x) % kFewLanes;
  const std::int64_t output = first_of_grid() / kFewLanes,
                     t0 = static_cast<std::int64_t>(blockIdx.y) * kFewRows;
  const std::int64_t at = min(output, product.outputs - 1);  // every lane takes part in the sums
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(kFewRows), T - t0));
  float sums[kFewRows] = {};
  add_inputs(sums, static_cast<const W*>(product.w) + at * inputs, {x + t0 * inputs, rows, inputs}, lane,
             kFewLanes);
#pragma unroll
  for (int t = 0; t < kFewRows; ++t) {
    float sum = sums[t];
#pragma unroll
    for (int step = kFewLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
    if (lane == 0 && t < rows && output < product.outputs) store(product, t0 + t, output, sum);
  }
}

unsigned pieces(std::int64_t n, std::int64_t size) { return static_cast<unsigned>((n + size - 1) / size); }

}  // namespace

void linear_plain(Stream stream, const Products& products, bool few) {
  const std::int64_t T = products.T, inputs = products.inputs;
  for (int i = 0; i < products.count && T > 0; ++i) {
    const Product& product = products.list[i];
    if (product.outputs <= 0) continue;
    with_float(product.dtype, [&]<class W>(W) {
      if (!few) {
        const dim3 grid(pieces(product.outputs, kSide), pieces(T, kSide));
        tile_kernel<W><<<grid, kSquares * kSquares, 0, stream>>>(product, products.x, T, inputs);
      } else if (inputs > kFewInputs) {
        const dim3 grid(pieces(product.outputs, 1), pieces(T, kFewRows));
        row_kernel<W><<<grid, kFewThreads, 0, stream>>>(product, products.x, T, inputs);
      } else {
        const dim3 grid(pieces(product.outputs, kFewThreads / kFewLanes), pieces(T, kFewRows));
        lanes_kernel<W><<<grid, kFewThreads, 0, stream>>>(product, products.x, T, inputs);
      }
    });
  }
}

}  // namespace mplus::kernels::cuda
