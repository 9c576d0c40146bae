// Parts of products by the matrix instruction at the speed of memory (linear_tensor.cu, linear_packed.cu).
#pragma once

#include <algorithm>
#include <cstdint>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace products {

inline constexpr int kWarps = 8, kTile = 16, kColumns = 8, kStep = 32;  // kStep: inputs of two instructions
inline constexpr int kSlab = kWarp;                                     // of 16 bytes: eight rows of one step

// kM tiles of outputs against kN columns of x, kStages steps in a ring.
template <int kM, int kN, int kStages>
struct Form {
  static constexpr int kSlabs = 2 * kM + kN;  // of a step
  static constexpr int kOutputs = kM * kTile, kRows = kN * kColumns;
  static constexpr std::size_t kRingBytes = sizeof(uint4) * kWarps * kStages * kSlabs * kSlab;
  static constexpr std::size_t kSumBytes = sizeof(float) * kWarps * kOutputs * kRows;
  static constexpr std::size_t kBytes = kRingBytes > kSumBytes ? kRingBytes : kSumBytes;
};

struct Place {
  const Product* product;
  std::int64_t output;  // first of the block's
};

__device__ inline Place find(const Products& products, std::int64_t block, int outputs) {
  int i = 0;
  for (; i + 1 < products.count; ++i) {
    const std::int64_t blocks = (products.list[i].outputs + outputs - 1) / outputs;
    if (block < blocks) break;
    block -= blocks;
  }
  return {&products.list[i], block * outputs};
}

// Where a lane's rows begin; null: there is no such row.
template <class W, int kCount>
struct RowsOf {
  const W* rows[kCount];

  __device__ RowsOf(const W* data, std::int64_t first, std::int64_t count, std::int64_t width) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t row = first + 8 * i + lane / 4;
      rows[i] = row < count ? data + row * width + 8 * (lane % 4) : nullptr;
    }
  }
  __device__ void ask_for(uint4* slabs, int step, bool inside) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const bool valid = inside && rows[i] != nullptr;
      ask(slabs + i * kSlab + lane, valid ? rows[i] + step * kStep : rows[0], valid);
    }
  }
};

// A tile's 16 rows of weights, a lane's part of two of them, against columns of x: 32 inputs.
template <class W, int kN>
__device__ void multiply_values(float (&sums)[kN][4], const uint4& low, const uint4& high,
                                const uint4 (&x)[kN]) {
  const std::uint32_t first[4] = {low.x, high.x, low.y, high.y};
  const std::uint32_t second[4] = {low.z, high.z, low.w, high.w};
#pragma unroll
  for (int n = 0; n < kN; ++n) {
    mma<W>(sums[n], first, x[n].x, x[n].y);
    mma<W>(sums[n], second, x[n].z, x[n].w);
  }
}

template <class W, int kM, int kN>
__device__ void multiply(float (&sums)[kM][kN][4], const uint4* slabs) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint4 x[kN];
#pragma unroll
  for (int n = 0; n < kN; ++n) x[n] = slabs[(2 * kM + n) * kSlab + lane];
#pragma unroll
  for (int m = 0; m < kM; ++m)
    multiply_values<W>(sums[m], slabs[2 * m * kSlab + lane], slabs[(2 * m + 1) * kSlab + lane], x);
}

// What a thread's outputs are added to: asked for early, so that nobody waits for it at the end.
template <int kM, int kN>
struct Before {
  static constexpr int kEach = (kM * kTile * kN * kColumns + kWarps * kWarp - 1) / (kWarps * kWarp);
  float values[kEach];

  __device__ Before(const Place& place, std::int64_t first_row, std::int64_t T) {
    constexpr int kOutputs = kM * kTile, kElements = kOutputs * kN * kColumns;
#pragma unroll
    for (int n = 0; n < kEach; ++n) {
      const int i = static_cast<int>(threadIdx.x) + n * kWarps * kWarp;
      const std::int64_t t = first_row + i / kOutputs, output = place.output + i % kOutputs;
      const bool needed =
          place.product->accumulate && i < kElements && t < T && output < place.product->outputs;
      values[n] = needed ? place.product->out[t * place.product->out_stride + output] : 0.0f;
    }
  }
};

// Adds what the warps have and writes the block's outputs.
template <int kM, int kN>
__device__ void finish(const float (&sums)[kM][kN][4], float* shared, const Place& place,
                       std::int64_t first_row, std::int64_t T, const Before<kM, kN>& before) {
  constexpr int kOutputs = kM * kTile, kRows = kN * kColumns, kElements = kOutputs * kRows;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int r = lane / 4, c = 2 * (lane % 4);
  __syncthreads();  // the rings are read
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        shared[warp * kElements + (n * kColumns + c + i % 2) * kOutputs + m * kTile + r + i / 2 * 8] =
            sums[m][n][i];
  __syncthreads();
#pragma unroll
  for (int n = 0; n < Before<kM, kN>::kEach; ++n) {
    const int i = static_cast<int>(threadIdx.x) + n * kWarps * kWarp;
    if (i >= kElements) continue;
    const std::int64_t t = first_row + i / kOutputs, output = place.output + i % kOutputs;
    if (t >= T || output >= place.product->outputs) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w * kElements + i];
    place.product->out[t * place.product->out_stride + output] =
        before.values[n] + place.product->scale * sum;
  }
}

// One block's outputs, with weights of x's type.
template <class W, int kM, int kN, int kStages>
__device__ void make_outputs(const Products& products, const Place& place, unsigned char* shared) {
  using F = Form<kM, kN, kStages>;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  uint4* ring = reinterpret_cast<uint4*>(shared) + warp * kStages * F::kSlabs * kSlab;
  const auto slot = [&](int step) { return ring + step % kStages * F::kSlabs * kSlab; };
  const RowsOf<W, 2 * kM> weights(static_cast<const W*>(place.product->w), place.output,
                                  place.product->outputs, products.inputs);
  const int steps = static_cast<int>(products.inputs / kStep), share = (steps + kWarps - 1) / kWarps;
  const int begin = warp * share, count = max(0, min(steps, begin + share) - begin);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step)  // weights do not depend on the last kernel
    weights.ask_for(slot(step), begin + step, step < count);
  begin_in_turn();
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * F::kRows;
  const RowsOf<W, kN> x(static_cast<const W*>(products.rounded) + place.product->x_row * products.inputs,
                        first_row, products.T, products.inputs);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    x.ask_for(slot(step) + 2 * kM * kSlab, begin + step, step < count);
    end_of_step();
  }
  const Before<kM, kN> before(place, first_row, products.T);
  float sums[kM][kN][4] = {};
  for (int step = 0; step < count; ++step) {
    wait_for_step<kStages - 2>();
    const int later = step + kStages - 1;  // takes the place of the step before
    weights.ask_for(slot(later), begin + later, later < count);
    x.ask_for(slot(later) + 2 * kM * kSlab, begin + later, later < count);
    end_of_step();
    multiply<W, kM, kN>(sums, slot(step));
  }
  wait_for_step<0>();
  finish<kM, kN>(sums, reinterpret_cast<float*>(shared), place, first_row, products.T, before);
}

inline std::int64_t blocks_of(const Products& products, int outputs) {
  std::int64_t blocks = 0;
  for (int i = 0; i < products.count; ++i) blocks += (products.list[i].outputs + outputs - 1) / outputs;
  return blocks;
}

}  // namespace products
}  // namespace mplus::kernels::cuda
