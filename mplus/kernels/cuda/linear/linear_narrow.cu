// Products with few outputs of many inputs, for any number of rows: the inner halves of adapters. Tiles are
// as in linear_tensor.cu, but of these there are so few that each is given to a cluster of blocks, which
// share the inputs out. Warps' sums are added in their order, then those of the blocks.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/device/warpgroup.cuh"
#include "mplus/kernels/cuda/linear/linear_tensor.cuh"

namespace mplus::kernels::cuda {

using namespace products;

namespace {

constexpr int kCluster = 4, kStages = 3;
constexpr int kRowTiles = 2, kManyRowTiles = 4;  // of eight rows; four and three blocks on a processor
template <int kN>
using NarrowForm = Form<1, kN, kStages>;

#ifdef MPLUS_WARPGROUPS

template <int kN>
using Sums = float[1][kN][4];
template <int kN>
constexpr int kElements = NarrowForm<kN>::kOutputs* NarrowForm<kN>::kRows;

// A warp's share of the inputs.
template <class W, int kN>
__device__ void multiply_share(Sums<kN>& sums, const Products& products, const Place& place, uint4* ring,
                               std::int64_t first_row) {
  const auto slot = [&](int step) { return ring + step % kStages * NarrowForm<kN>::kSlabs * kSlab; };
  const RowsOf<W, 2> weights(static_cast<const W*>(place.product->w), place.output, place.product->outputs,
                             products.inputs);
  const int steps = static_cast<int>(products.inputs / kStep), warps = kCluster * kWarps,
            share = (steps + warps - 1) / warps,
            begin = (block_of_cluster() * kWarps + static_cast<int>(threadIdx.x) / kWarp) * share,
            count = max(0, min(steps, begin + share) - begin);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step)  // weights do not depend on the last kernel
    weights.ask_for(slot(step), begin + step, step < count);
  begin_in_turn();
  const RowsOf<W, kN> x(static_cast<const W*>(products.rounded) + place.product->x_row * products.inputs,
                        first_row, products.T, products.inputs);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    x.ask_for(slot(step) + 2 * kSlab, begin + step, step < count);
    end_of_step();
  }
  for (int step = 0; step < count; ++step) {
    wait_for_step<kStages - 2>();
    const int later = step + kStages - 1;  // takes the place of the step before
    weights.ask_for(slot(later), begin + later, later < count);
    x.ask_for(slot(later) + 2 * kSlab, begin + later, later < count);
    end_of_step();
    multiply<W, 1, kN>(sums, slot(step));
  }
  wait_for_step<0>();
}

// Sums over the block's warps; a thread makes as many as there are for it.
template <int kN>
__device__ void add_warps(float (&out)[kElements<kN>], const Sums<kN>& sums, float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int r = lane / 4, c = 2 * (lane % 4);
  __syncthreads();  // the rings are read
#pragma unroll
  for (int n = 0; n < kN; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      shared[warp * kElements<kN> + (n * kColumns + c + i % 2) * kTile + r + i / 2 * 8] = sums[0][n][i];
  __syncthreads();
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kElements<kN>; i += kWarps * kWarp) {
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w * kElements<kN> + i];
    out[i] = sum;
  }
}

__device__ float read_from(int block, const float* at) {
  float x;
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %1, %2;\n"
      "ld.shared::cluster.f32 %0, [there];\n}\n"
      : "=f"(x)
      : "r"(shared_address(at)), "r"(block)
      : "memory");
  return x;
}

#endif

// Grid: tiles of outputs times blocks of a cluster, tiles of rows.
template <class W, int kN>
__global__ void MPLUS_CLUSTERS(kCluster) __launch_bounds__(kWarps* kWarp)
    narrow_kernel(const __grid_constant__ Products products) {
#ifdef MPLUS_WARPGROUPS
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ float block_sums[kElements<kN>];
  const Place place = find(products, blockIdx.x / kCluster, kTile);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * NarrowForm<kN>::kRows;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  Sums<kN> sums = {};
  multiply_share<W, kN>(sums, products, place,
                        reinterpret_cast<uint4*>(shared) + warp * kStages * NarrowForm<kN>::kSlabs * kSlab,
                        first_row);
  add_warps<kN>(block_sums, sums, reinterpret_cast<float*>(shared));
  sync_cluster();
  constexpr int kPart = kElements<kN> / kCluster;  // what each block adds
  static_assert(kPart <= kWarps * kWarp);
  if (threadIdx.x < kPart) {
    const int i = block_of_cluster() * kPart + static_cast<int>(threadIdx.x);
    float sum = 0;
#pragma unroll
    for (int block = 0; block < kCluster; ++block) sum += read_from(block, block_sums + i);
    const std::int64_t t = first_row + i / kTile, output = place.output + i % kTile;
    if (t < products.T && output < place.product->outputs) {
      float* out = place.product->out + t * place.product->out_stride + output;
      *out = (place.product->accumulate ? *out : 0.0f) + place.product->scale * sum;
    }
  }
  sync_cluster();  // what others read stays until they have
#endif
}

}  // namespace

// By shapes alone: a row's bits must not depend on how many there are.
bool fits_linear_narrow(const Products& products) {
  constexpr std::int64_t kManyInputs = 2048;
  return products.inputs >= kManyInputs && fits_linear_tensor(products) && has_warpgroups();
}

namespace {

template <int kN>
void launch_form(Stream stream, const Products& products) {
  constexpr int kRows = NarrowForm<kN>::kRows;
  const dim3 grid(static_cast<unsigned>(blocks_of(products, kTile) * kCluster),
                  static_cast<unsigned>((products.T + kRows - 1) / kRows));
  with_half(products.list[0].dtype, [&]<class W>(W) {
    allow_shared<narrow_kernel<W, kN>>(NarrowForm<kN>::kBytes);
    launch(narrow_kernel<W, kN>, grid, kWarps * kWarp, stream, NarrowForm<kN>::kBytes, products);
  });
}

}  // namespace

// A row has the same bits in both forms.
void linear_narrow(Stream stream, const Products& products) {
  if (products.count == 0 || products.T <= 0) return;
  constexpr std::int64_t kManyRows = 2048;  // which keep the device busy in high tiles
  if (products.T < kManyRows) launch_form<kRowTiles>(stream, products);
  else launch_form<kManyRowTiles>(stream, products);
}

}  // namespace mplus::kernels::cuda
