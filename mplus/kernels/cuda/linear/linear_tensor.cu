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

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/linear/linear_tensor.cuh"

namespace mplus::kernels::cuda {

using namespace products;

namespace {

template <class W, int kM, int kN, int kStages>
__global__ void __launch_bounds__(kWarps* kWarp) tensor_kernel(const __grid_constant__ Products products) {
  extern __shared__ __align__(16) unsigned char shared[];
  make_outputs<W, kM, kN, kStages>(products, find(products, blockIdx.x, kM * kTile), shared);
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
