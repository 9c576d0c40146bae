// Products by the matrix instruction at the speed of memory, for few rows of x. A tile of outputs is a
// block's: its eight warps share the inputs out, and their sums are added in the order of the warps. The
// instruction's columns are rows of x.
//
// Every warp has a ring in shared memory, into which it asks for weights and rows of x some steps ahead, so
// that much is on its way while little is held in registers. A lane reads only what it asked for itself, and
// nobody waits for another warp. Weights are asked for before the last kernel has ended. The sum over inputs
// may run in any order as long as both operands agree, so a lane takes eight neighbouring inputs at once (16
// bytes of a row) for two instructions of 16. How many tiles a block has does not change that order.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device.cuh"
#include "mplus/kernels/cuda/dispatch.cuh"
#include "mplus/kernels/cuda/launch.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWarps = 8, kTile = 16, kColumns = 8, kStep = 32;  // kStep: inputs of two instructions
constexpr int kSlab = kWarp;                                     // of 16 bytes: eight rows of one step

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

__device__ Place find(const Products& products, std::int64_t block, int outputs) {
  int i = 0;
  for (; i + 1 < products.count; ++i) {
    const std::int64_t blocks = (products.list[i].outputs + outputs - 1) / outputs;
    if (block < blocks) break;
    block -= blocks;
  }
  return {&products.list[i], block * outputs};
}

// Sixteen bytes that are read once, and zeros where there is nothing to read.
__device__ void ask(uint4* to, const void* from, bool valid) {
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(shared), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
__device__ void end_of_step() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kLeft>
__device__ void wait_for_step() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
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

template <class W, int kM, int kN>
__device__ void multiply(float (&sums)[kM][kN][4], const uint4* slabs) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint4 x[kN];
#pragma unroll
  for (int n = 0; n < kN; ++n) x[n] = slabs[(2 * kM + n) * kSlab + lane];
#pragma unroll
  for (int m = 0; m < kM; ++m) {
    const uint4 low = slabs[2 * m * kSlab + lane], high = slabs[(2 * m + 1) * kSlab + lane];
    const std::uint32_t first[4] = {low.x, high.x, low.y, high.y};
    const std::uint32_t second[4] = {low.z, high.z, low.w, high.w};
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      mma<W>(sums[m][n], first, x[n].x, x[n].y);
      mma<W>(sums[m][n], second, x[n].z, x[n].w);
    }
  }
}

// Adds what the warps have and writes the block's outputs.
template <int kM, int kN>
__device__ void finish(const float (&sums)[kM][kN][4], float* shared, const Place& place,
                       std::int64_t first_row, std::int64_t T) {
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
  for (int i = static_cast<int>(threadIdx.x); i < kElements; i += kWarps * kWarp) {
    const std::int64_t t = first_row + i / kOutputs, output = place.output + i % kOutputs;
    if (t >= T || output >= place.product->outputs) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w * kElements + i];
    float* out = place.product->out + t * place.product->out_stride + output;
    *out = (place.product->accumulate ? *out : 0.0f) + place.product->scale * sum;
  }
}

template <class W, int kM, int kN, int kStages>
__global__ void __launch_bounds__(kWarps* kWarp) tensor_kernel(const __grid_constant__ Products products) {
  using F = Form<kM, kN, kStages>;
  extern __shared__ __align__(16) unsigned char shared[];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  uint4* ring = reinterpret_cast<uint4*>(shared) + warp * kStages * F::kSlabs * kSlab;
  const auto slot = [&](int step) { return ring + step % kStages * F::kSlabs * kSlab; };
  const Place place = find(products, blockIdx.x, F::kOutputs);
  const RowsOf<W, 2 * kM> weights(static_cast<const W*>(place.product->w), place.output,
                                  place.product->outputs, products.inputs);
  const int steps = static_cast<int>(products.inputs / kStep), share = (steps + kWarps - 1) / kWarps;
  const int begin = warp * share, count = max(0, min(steps, begin + share) - begin);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step)  // weights do not depend on the last kernel
    weights.ask_for(slot(step), begin + step, step < count);
  begin_in_turn();
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * F::kRows;
  const RowsOf<W, kN> x(static_cast<const W*>(products.rounded), first_row, products.T, products.inputs);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    x.ask_for(slot(step) + 2 * kM * kSlab, begin + step, step < count);
    end_of_step();
  }
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
  finish<kM, kN>(sums, reinterpret_cast<float*>(shared), place, first_row, products.T);
}

std::int64_t blocks_of(const Products& products, int outputs) {
  std::int64_t blocks = 0;
  for (int i = 0; i < products.count; ++i) blocks += (products.list[i].outputs + outputs - 1) / outputs;
  return blocks;
}

template <int kM, int kN, int kStages>
void launch_form(Stream stream, const Products& products) {
  using F = Form<kM, kN, kStages>;
  const dim3 grid(static_cast<unsigned>(blocks_of(products, F::kOutputs)),
                  static_cast<unsigned>((products.T + F::kRows - 1) / F::kRows));
  with_half(products.list[0].dtype, [&]<class W>(W) {
    allow_shared<tensor_kernel<W, kM, kN, kStages>>(F::kBytes);
    launch(tensor_kernel<W, kM, kN, kStages>, grid, kWarps * kWarp, stream, F::kBytes, products);
  });
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

// Measured on an H200: where blocks are few a deep ring keeps memory busy, where they are many more blocks on
// a processor do; wider ones, which read x less often, gain nothing. Where shared memory is small (sm_89,
// sm_120) the deepest rings do not fit.
void linear_tensor(Stream stream, const Products& products) {
  constexpr std::int64_t kFewTiles = 300;  // two blocks or so on each of 132 processors
  constexpr std::int64_t kNarrow = 32;     // so few that every tile should be a block
  const std::int64_t tiles = blocks_of(products, kTile);
  if (tiles == 0 || products.T <= 0) return;
  const bool roomy = most_shared_bytes() >= Form<2, 8, 4>::kBytes, deep = roomy && tiles < kFewTiles;
  if (products.T <= kColumns)
    return tiles < kFewTiles ? launch_form<1, 1, 8>(stream, products)
                             : launch_form<1, 1, 6>(stream, products);
  if (tiles < kNarrow) return launch_form<1, 2, 6>(stream, products);
  if (products.T <= 2 * kColumns)
    return deep ? launch_form<2, 2, 6>(stream, products) : launch_form<2, 2, 4>(stream, products);
  if (products.T <= 4 * kColumns) return launch_form<2, 4, 3>(stream, products);
  roomy ? launch_form<2, 8, 4>(stream, products) : launch_form<2, 8, 2>(stream, products);
}

}  // namespace mplus::kernels::cuda
