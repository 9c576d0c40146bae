// Products by the matrix instruction, weights straight from memory to registers. A tile of 16 outputs is a
// block's: its eight warps share the inputs out, and their sums are added in the order of the warps. The
// instruction's columns are rows of x, 8 or 16 of them.
//
// Many small blocks on a processor keep memory busy, also those of the next product, which ask for their
// first weights before this one has ended. The sum over inputs may run in any order as long as both operands
// agree, so a lane takes eight neighbouring inputs at once (16 bytes of a row of w) for two instructions
// of 16.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device.cuh"
#include "mplus/kernels/cuda/dispatch.cuh"
#include "mplus/kernels/cuda/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWarps = 8, kTile = 16, kColumns = 8, kStep = 32;  // kStep: inputs of two instructions
constexpr int kAhead = 4;                                        // steps that are loaded together

struct Place {
  const Product* product;
  std::int64_t output;  // first of the tile
};

__device__ Place find(const Products& products, std::int64_t tile) {
  int i = 0;
  for (; i + 1 < products.count; ++i) {
    const std::int64_t tiles = (products.list[i].outputs + kTile - 1) / kTile;
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {&products.list[i], tile * kTile};
}

// The weights of kAhead steps: of output r, and of output r + 8.
struct Weights {
  uint4 low[kAhead], high[kAhead];
};

template <class W>
__device__ void load(Weights& to, const W* low, const W* high, int step, int end) {
#pragma unroll
  for (int u = 0; u < kAhead; ++u) {
    const bool inside = step + u < end;
    to.low[u] = inside ? load_once(low + (step + u) * kStep) : uint4{};
    to.high[u] = inside ? load_once(high + (step + u) * kStep) : uint4{};
  }
}

template <class W>
__device__ uint4 load_rounded(const float* x) {
  const float4 a = reinterpret_cast<const float4*>(x)[0], b = reinterpret_cast<const float4*>(x)[1];
  return {pack<W>(a.x, a.y), pack<W>(a.z, a.w), pack<W>(b.x, b.y), pack<W>(b.z, b.w)};
}

template <class W, int kN>
__device__ void multiply(float (&sums)[kN][4], const Weights& w, const float* const (&x)[kN], int step,
                         int end) {
#pragma unroll
  for (int u = 0; u < kAhead; ++u) {
    const std::uint32_t first[4] = {w.low[u].x, w.high[u].x, w.low[u].y, w.high[u].y};
    const std::uint32_t second[4] = {w.low[u].z, w.high[u].z, w.low[u].w, w.high[u].w};
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      const bool inside = x[n] != nullptr && step + u < end;
      const uint4 column = inside ? load_rounded<W>(x[n] + (step + u) * kStep) : uint4{};
      mma<W>(sums[n], first, column.x, column.y);
      mma<W>(sums[n], second, column.z, column.w);
    }
  }
}

// Adds what the warps have and writes the tile.
template <int kN>
__device__ void finish(const float (&sums)[kN][4], const Place& place, std::int64_t first_row,
                       std::int64_t T) {
  __shared__ float shared[kWarps][kN][kTile][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int r = lane / 4, c = 2 * (lane % 4);
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    shared[warp][n][r][c] = sums[n][0];
    shared[warp][n][r][c + 1] = sums[n][1];
    shared[warp][n][r + 8][c] = sums[n][2];
    shared[warp][n][r + 8][c + 1] = sums[n][3];
  }
  __syncthreads();
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kN * kTile * kColumns) return;
  const int row = i % kTile, column = i / kTile % kColumns, n = i / (kTile * kColumns);
  const std::int64_t t = first_row + n * kColumns + column, output = place.output + row;
  if (t >= T || output >= place.product->outputs) return;
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += shared[w][n][row][column];
  float* out = place.product->out + t * place.product->out_stride + output;
  *out = (place.product->accumulate ? *out : 0.0f) + place.product->scale * sum;
}

template <class W, int kN>
__global__ void __launch_bounds__(kWarps* kWarp, kN == 1 ? 3 : 2)
    tensor_kernel(const __grid_constant__ Products products) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int r = lane / 4, c = lane % 4;
  const Place place = find(products, blockIdx.x);
  const std::int64_t last = place.product->outputs - 1, inputs = products.inputs;
  const W* w = static_cast<const W*>(place.product->w) + 8 * c;
  const W* low = w + min(last, place.output + r) * inputs;
  const W* high = w + min(last, place.output + r + 8) * inputs;
  const int steps = static_cast<int>(inputs / kStep), share = (steps + kWarps - 1) / kWarps;
  const int end = min(steps, (warp + 1) * share);
  Weights weights;
  load(weights, low, high, warp * share, end);  // they do not depend on the last kernel
  begin_in_turn();
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kN * kColumns;
  const float* x[kN];
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    const std::int64_t t = first_row + n * kColumns + r;
    x[n] = t < products.T ? products.x + t * inputs + 8 * c : nullptr;
  }
  float sums[kN][4] = {};
  for (int step = warp * share; step < end; step += kAhead) {
    multiply<W, kN>(sums, weights, x, step, end);
    load(weights, low, high, step + kAhead, end);
  }
  finish<kN>(sums, place, first_row, products.T);
}

}  // namespace

bool fits_linear_tensor(const Products& products) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (products.inputs <= 0 || products.inputs % kStep != 0 || !aligned(products.x)) return false;
  for (int i = 0; i < products.count; ++i) {
    const Product& product = products.list[i];
    if (product.dtype != DType::bf16 && product.dtype != DType::f16) return false;
    if (product.dtype != products.list[0].dtype || !aligned(product.w)) return false;
  }
  return true;
}

void linear_tensor(Stream stream, const Products& products) {
  std::int64_t tiles = 0;
  for (int i = 0; i < products.count; ++i) tiles += (products.list[i].outputs + kTile - 1) / kTile;
  if (tiles == 0 || products.T <= 0) return;
  with_half(products.list[0].dtype, [&]<class W>(W) {
    const auto x = static_cast<unsigned>(tiles);
    if (products.T <= kColumns) {
      launch(tensor_kernel<W, 1>, x, kWarps * kWarp, stream, 0, products);
    } else {
      const dim3 grid(x, static_cast<unsigned>((products.T + 2 * kColumns - 1) / (2 * kColumns)));
      launch(tensor_kernel<W, 2>, grid, kWarps * kWarp, stream, 0, products);
    }
  });
}

}  // namespace mplus::kernels::cuda
