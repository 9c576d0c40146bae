// The outer halves of the low-rank additions to gate and up, added while both are read for silu(gate) · up. A
// thread has two outputs, whose rows of both b it keeps in registers, and goes over the rows of a tile; an
// element's bits depend on its row alone, and are those of add_adapters, the product and swiglu in turn.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kBlock = 128, kRows = 16, kWide = 2, kAhead = 4;  // rows of a tile, outputs, rows read together

template <class B, int kRank>
__device__ void load_outer(float (&b)[kWide][kRank], const Adapter& adapter, std::int64_t output) {
  const auto* from = reinterpret_cast<const uint2*>(static_cast<const B*>(adapter.b) + output * kRank);
#pragma unroll
  for (int four = 0; four < kWide * kRank / 4; ++four) {
    const uint2 words = from[four];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      b[4 * four / kRank][4 * four % kRank + i] =
          adapter.scale * to_float(reinterpret_cast<const B*>(&words)[i]);
  }
}

// x + low · bᵀ, the addition summed by itself first.
template <int kRank>
__device__ float2 with_outer(float2 x, const float* low, const float (&b)[kWide][kRank]) {
  float2 sum{};
#pragma unroll
  for (int r = 0; r < kRank; ++r) {
    sum.x = fmaf(low[r], b[0][r], sum.x);
    sum.y = fmaf(low[r], b[1][r], sum.y);
  }
  return {x.x + sum.x, x.y + sum.y};
}

__device__ float gated(float gate, float up) { return gate / (1.0f + expf(-gate)) * up; }

template <class B, int kRank>
__global__ void __launch_bounds__(kBlock)
    gated_kernel(const __grid_constant__ Adapters adapters, Rounded rounded) {
  __shared__ __align__(16) float low[2][kRows][kRank];
  const Adapter &gate = adapters.list[0], &up = adapters.list[1];
  const std::int64_t output = (static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x) * kWide;
  const std::int64_t t0 = static_cast<std::int64_t>(blockIdx.y) * kRows;
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(kRows), adapters.T - t0));
  float b[2][kWide][kRank];
  const std::int64_t inside = min(output, gate.outputs - kWide);
  load_outer<B, kRank>(b[0], gate, inside);
  load_outer<B, kRank>(b[1], up, inside);
  begin_in_turn();  // weights do not depend on the last kernel
  float2 g[kAhead], u[kAhead];
  const auto load = [&](int first) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (first + i >= rows || output >= gate.outputs) continue;
      g[i] = *reinterpret_cast<const float2*>(gate.out + (t0 + first + i) * gate.out_stride + output);
      u[i] = *reinterpret_cast<const float2*>(up.out + (t0 + first + i) * up.out_stride + output);
    }
  };
  load(0);
  for (int i = static_cast<int>(threadIdx.x); i < rows * kRank; i += kBlock) {
    low[0][i / kRank][i % kRank] = gate.low[t0 * kRank + i];
    low[1][i / kRank][i % kRank] = up.low[t0 * kRank + i];
  }
  __syncthreads();
  if (output >= gate.outputs) return;
  for (int first = 0; first < rows; first += kAhead) {
    if (first > 0) load(first);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (first + i >= rows) continue;
      const std::int64_t at = (t0 + first + i) * gate.out_stride + output;
      const float2 x = with_outer<kRank>(g[i], low[0][first + i], b[0]);
      const float2 y = with_outer<kRank>(u[i], low[1][first + i], b[1]);
      const float2 result = {gated(x.x, y.x), gated(x.y, y.y)};
      *reinterpret_cast<float2*>(gate.out + at) = result;
      if (rounded.to == nullptr) continue;
      auto* to = static_cast<std::uint32_t*>(rounded.to) + at / 2;
      *to = rounded.dtype == DType::bf16 ? pack<bf16>(result.x, result.y) : pack<f16>(result.x, result.y);
    }
  }
}

template <int kRank>
void launch_rank(Stream stream, const Adapters& adapters, const Rounded& rounded) {
  const dim3 grid(static_cast<unsigned>((adapters.list[0].outputs + kBlock * kWide - 1) / (kBlock * kWide)),
                  static_cast<unsigned>((adapters.T + kRows - 1) / kRows));
  with_half(adapters.dtype,
            [&]<class B>(B) { launch(gated_kernel<B, kRank>, grid, kBlock, stream, 0, adapters, rounded); });
}

}  // namespace

bool fits_gated(const Adapters& adapters) {
  return adapters.count == 2 && fits_adapters(adapters) && adapters.rank <= 16 &&
         adapters.list[0].outputs == adapters.list[1].outputs &&
         adapters.list[0].out_stride == adapters.list[0].outputs;
}

void swiglu_gated(Stream stream, const Adapters& adapters, const Rounded& rounded) {
  if (adapters.T <= 0) return;
  if (adapters.rank == 4) launch_rank<4>(stream, adapters, rounded);
  if (adapters.rank == 8) launch_rank<8>(stream, adapters, rounded);
  if (adapters.rank == 16) launch_rank<16>(stream, adapters, rounded);
}

}  // namespace mplus::kernels::cuda
