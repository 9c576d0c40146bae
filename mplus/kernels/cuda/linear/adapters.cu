// The outer halves of low-rank additions. A thread has a few outputs, whose rows of b it keeps in registers,
// and goes over the rows of a tile; an element's bits depend on its row alone.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kBlock = 128, kRows = 16, kWide = 4;  // rows of a tile at most, outputs of a thread

template <class B, int kRank>
__global__ void __launch_bounds__(kBlock)
    adapters_kernel(const __grid_constant__ Adapters adapters, int tile) {
  __shared__ __align__(16) float low[kRows][kRank];
  const Adapter& adapter = adapters.list[blockIdx.z];
  const std::int64_t output = (static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x) * kWide;
  const std::int64_t t0 = static_cast<std::int64_t>(blockIdx.y) * tile;
  const int rows = static_cast<int>(min(static_cast<std::int64_t>(tile), adapter.T - t0));
  float b[kWide][kRank];
  const B* from = static_cast<const B*>(adapter.b) + min(output, adapter.outputs - kWide) * kRank;
#pragma unroll
  for (int eight = 0; eight < kWide * kRank / 8; ++eight) {
    const uint4 words = reinterpret_cast<const uint4*>(from)[eight];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      b[(8 * eight + i) / kRank][(8 * eight + i) % kRank] =
          adapter.scale * to_float(reinterpret_cast<const B*>(&words)[i]);
  }
  begin_in_turn();  // weights do not depend on the last kernel
  const auto place = [&](int t) {
    return reinterpret_cast<float4*>(adapter.out + (t0 + t) * adapter.out_stride + output);
  };
  const auto load = [&](int t) {
    return t < rows && output < adapter.outputs && !adapter.begin ? *place(t) : float4{};
  };
  float4 next = load(0);  // a row ahead
  for (int i = static_cast<int>(threadIdx.x); i < rows * kRank; i += kBlock)
    low[i / kRank][i % kRank] = adapter.low[t0 * kRank + i];
  __syncthreads();
  if (output >= adapter.outputs) return;
  for (int t = 0; t < rows; ++t) {
    const float4 base = next;
    next = load(t + 1);
    float4 sum{};  // by itself first, as in gated.cu
#pragma unroll
    for (int r = 0; r < kRank; ++r) {
      const float x = low[t][r];
      sum.x = fmaf(x, b[0][r], sum.x);
      sum.y = fmaf(x, b[1][r], sum.y);
      sum.z = fmaf(x, b[2][r], sum.z);
      sum.w = fmaf(x, b[3][r], sum.w);
    }
    *place(t) = {base.x + sum.x, base.y + sum.y, base.z + sum.z, base.w + sum.w};
  }
}

template <int kRank>
void launch_rank(Stream stream, const Adapters& adapters) {
  std::int64_t outputs = 0;
  for (int i = 0; i < adapters.count; ++i) outputs = std::max(outputs, adapters.list[i].outputs);
  constexpr std::int64_t kFewRows = 1024;  // which lower tiles spread over the whole device
  const int tile = adapters.T <= kFewRows ? kRows / 2 : kRows;
  const dim3 grid(static_cast<unsigned>((outputs + kBlock * kWide - 1) / (kBlock * kWide)),
                  static_cast<unsigned>((adapters.T + tile - 1) / tile),
                  static_cast<unsigned>(adapters.count));
  with_half(adapters.dtype,
            [&]<class B>(B) { launch(adapters_kernel<B, kRank>, grid, kBlock, stream, 0, adapters, tile); });
}

}  // namespace

bool fits_adapters(const Adapters& adapters) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (adapters.dtype != DType::bf16 && adapters.dtype != DType::f16) return false;
  for (int i = 0; i < adapters.count; ++i) {
    const Adapter& adapter = adapters.list[i];
    if (adapter.outputs % kWide != 0 || adapter.outputs == 0 || adapter.out_stride % kWide != 0) return false;
    if (!aligned(adapter.out) || !aligned(adapter.b)) return false;
  }
  return adapters.rank == 4 || adapters.rank == 8 || adapters.rank == 16 || adapters.rank == 32;
}

void add_adapters(Stream stream, const Adapters& adapters) {
  if (adapters.count == 0 || adapters.T <= 0) return;
  if (adapters.rank == 4) launch_rank<4>(stream, adapters);
  if (adapters.rank == 8) launch_rank<8>(stream, adapters);
  if (adapters.rank == 16) launch_rank<16>(stream, adapters);
  if (adapters.rank == 32) launch_rank<32>(stream, adapters);
}

}  // namespace mplus::kernels::cuda
