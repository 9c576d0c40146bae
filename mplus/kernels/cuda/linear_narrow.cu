// Products with few outputs of many inputs, for any number of rows: the inner halves of adapters. Tiles are
// as in linear_tensor.cu, but of these there are so few that each is given to a cluster of blocks, which
// share the inputs out. Warps' sums are added in their order, then those of the blocks.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device.cuh"
#include "mplus/kernels/cuda/dispatch.cuh"
#include "mplus/kernels/cuda/launch.h"
#include "mplus/kernels/cuda/linear_tensor.cuh"
#include "mplus/kernels/cuda/warpgroup.cuh"

namespace mplus::kernels::cuda {

using namespace products;

namespace {

constexpr int kCluster = 4, kRowTiles = 2, kStages = 3;  // four blocks on a processor
using NarrowForm = Form<1, kRowTiles, kStages>;
constexpr int kElements = NarrowForm::kOutputs * NarrowForm::kRows;
static_assert(kElements == kWarps * kWarp);  // a thread adds one

#ifdef MPLUS_WARPGROUPS

using Sums = float[1][kRowTiles][4];

// A warp's share of the inputs.
template <class W>
__device__ void multiply_share(Sums& sums, const Products& products, const Place& place, uint4* ring,
                               std::int64_t first_row) {
  const auto slot = [&](int step) { return ring + step % kStages * NarrowForm::kSlabs * kSlab; };
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
  const RowsOf<W, kRowTiles> x(
      static_cast<const W*>(products.rounded) + place.product->x_row * products.inputs, first_row, products.T,
      products.inputs);
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
    multiply<W, 1, kRowTiles>(sums, slot(step));
  }
  wait_for_step<0>();
}

// The sum of a thread's element over the block's warps.
__device__ float add_warps(const Sums& sums, float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int r = lane / 4, c = 2 * (lane % 4);
  __syncthreads();  // the rings are read
#pragma unroll
  for (int n = 0; n < kRowTiles; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      shared[warp * kElements + (n * kColumns + c + i % 2) * NarrowForm::kOutputs + r + i / 2 * 8] =
          sums[0][n][i];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += shared[w * kElements + threadIdx.x];
  return sum;
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
template <class W>
__global__ void MPLUS_CLUSTERS(kCluster) __launch_bounds__(kWarps* kWarp)
    narrow_kernel(const __grid_constant__ Products products) {
#ifdef MPLUS_WARPGROUPS
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ float block_sums[kElements];
  const Place place = find(products, blockIdx.x / kCluster, kTile);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * NarrowForm::kRows;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  Sums sums = {};
  multiply_share<W>(sums, products, place,
                    reinterpret_cast<uint4*>(shared) + warp * kStages * NarrowForm::kSlabs * kSlab,
                    first_row);
  block_sums[threadIdx.x] = add_warps(sums, reinterpret_cast<float*>(shared));
  sync_cluster();
  constexpr int kPart = kElements / kCluster;  // what each block adds
  if (threadIdx.x < kPart) {
    const int i = block_of_cluster() * kPart + static_cast<int>(threadIdx.x);
    float sum = 0;
#pragma unroll
    for (int block = 0; block < kCluster; ++block) sum += read_from(block, block_sums + i);
    const std::int64_t t = first_row + i / NarrowForm::kOutputs,
                       output = place.output + i % NarrowForm::kOutputs;
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

void linear_narrow(Stream stream, const Products& products) {
  const std::int64_t tiles = blocks_of(products, kTile);
  if (tiles == 0 || products.T <= 0) return;
  const dim3 grid(static_cast<unsigned>(tiles * kCluster),
                  static_cast<unsigned>((products.T + NarrowForm::kRows - 1) / NarrowForm::kRows));
  with_half(products.list[0].dtype, [&]<class W>(W) {
    allow_shared<narrow_kernel<W>>(NarrowForm::kBytes);
    launch(narrow_kernel<W>, grid, kWarps * kWarp, stream, NarrowForm::kBytes, products);
  });
}

}  // namespace mplus::kernels::cuda
