// Products with weights of one byte for one row of x, or so few that they stay in shared memory: the sums of
// linear_packed.cu, bit for bit, without pauses between tiles. A block takes one tile of outputs after
// another; weights go through its warps' rings without a break, so that what a tile costs beside them (its
// scales, adding up the warps, what is there already) is paid while the next one is on its way.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/linear/linear_packed.cuh"
#include "mplus/kernels/cuda/linear/linear_tensor.cuh"

namespace mplus::kernels::cuda {

using namespace products;

namespace {

constexpr int kBlocks = 2;      // on a processor
constexpr int kStepBytes = 64;  // of a row, whatever its type: 16 of each of four lanes
constexpr int kStages = 9;
constexpr std::int64_t kMostX = 29 * 1024;  // bytes of x
constexpr int kElements = kTile * kColumns;

// Of a block's shared memory.
struct Rooms {
  uint4 ring[kWarps][kStages][2][kSlab];
  float sums[2][kWarps][kElements];  // of two tiles by turns
};

// Rows of x lie so far apart (in bytes) that the lanes of a quarter of a warp meet no bank twice.
constexpr int kGap = 16;
__host__ __device__ constexpr int x_stride(std::int64_t inputs) {
  return static_cast<int>(inputs) * 2 + kGap;
}

// A tile, and a warp's share of its steps. Beside weights of one byte there may be others.
struct Tile {
  Place place;
  bool packed;
  int row_bytes, begin, count;
};

__device__ Tile tile_of(const Products& products, int tile) {
  const Place place = find(products, tile, kTile);
  const bool packed = place.product->row_scales != nullptr;
  const int row_bytes = static_cast<int>(products.inputs) * (packed ? 1 : 2), steps = row_bytes / kStepBytes,
            share = (steps + kWarps - 1) / kWarps, begin = static_cast<int>(threadIdx.x) / kWarp * share;
  return {place, packed, row_bytes, begin, max(0, min(steps, begin + share) - begin)};
}

// Which step of which tile a warp asks for next.
class Cursor {
 public:
  __device__ Cursor(const Products& products, int tiles)
      : products_(products), tile_(static_cast<int>(blockIdx.x)), tiles_(tiles) {
    find_rows();
  }
  __device__ void ask_for(uint4 (&to)[2][kSlab]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (left_ > 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        ask(&to[half][lane], rows_[half], valid_[half]);
        rows_[half] += valid_[half] ? kStepBytes : 0;
      }
      if (--left_ == 0) {
        tile_ += static_cast<int>(gridDim.x);
        find_rows();
      }
    }
    end_of_step();
  }

 private:
  __device__ void find_rows() {  // of the next tile with steps for this warp
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    for (; tile_ < tiles_; tile_ += static_cast<int>(gridDim.x)) {
      const Tile tile = tile_of(products_, tile_);
      left_ = tile.count;
      const auto* all = static_cast<const std::byte*>(tile.place.product->w);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = tile.place.output + 8 * half + lane / 4;
        valid_[half] = row < tile.place.product->outputs;
        rows_[half] =
            valid_[half] ? all + row * tile.row_bytes + tile.begin * kStepBytes + 16 * (lane % 4) : all;
      }
      if (left_ > 0) return;
    }
  }

  const Products& products_;
  const std::byte* rows_[2] = {};
  bool valid_[2] = {};
  int tile_, tiles_, left_ = 0;
};

// x: the lane's row, at the warp's first step.
template <class Code>
__device__ void multiply_step(float (&sums)[1][4], const uint4 (&slot)[2][kSlab], const unsigned char* x,
                              bool packed, bool inside) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint4 low = slot[0][lane], high = slot[1][lane];
  const auto* from = reinterpret_cast<const uint4*>(x);
  if (packed) {
    const uint4 both[2] = {inside ? from[0] : uint4{}, inside ? from[1] : uint4{}};
    return multiply_bytes<Code>(sums, low, high, both);
  }
  const uint4 one[1] = {inside ? from[0] : uint4{}};
  multiply_values<f16>(sums, low, high, one);
}

// All rows of x into shared memory.
__device__ void bring_x(unsigned char* to, const Products& products) {
  const int pieces = static_cast<int>(products.inputs / 8), all = static_cast<int>(products.T) * pieces;
  const auto* from = static_cast<const uint4*>(products.rounded);
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kWarps * kWarp)
    reinterpret_cast<uint4*>(to + i / pieces * x_stride(products.inputs))[i % pieces] = from[i];
  __syncthreads();
}

__device__ float row_scale(const Tile& tile, int output) {
  if (!tile.packed) return 1.0f;
  const std::int64_t row = tile.place.output + output;
  return row < tile.place.product->outputs ? tile.place.product->row_scales[row] : 0.0f;
}

template <class Code>
__global__ void __launch_bounds__(kWarps* kWarp, kBlocks)
    stream_kernel(const __grid_constant__ Products products, int tiles) {
  extern __shared__ __align__(16) unsigned char shared[];
  Rooms& rooms = *reinterpret_cast<Rooms*>(shared);
  unsigned char* x = shared + sizeof(Rooms);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int r = lane / 4, c = lane % 4, T = static_cast<int>(products.T);
  Cursor ahead(products, tiles);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) ahead.ask_for(rooms.ring[warp][stage]);
  begin_in_turn();  // weights do not depend on the last kernel
  bring_x(x, products);
  const unsigned char* my_x = x + min(r, T - 1) * x_stride(products.inputs);
  int slot = 0, turn = 0;
  for (int number = static_cast<int>(blockIdx.x); number < tiles;
       number += static_cast<int>(gridDim.x), turn ^= 1) {
    const Tile tile = tile_of(products, number);
    const Product& product = *tile.place.product;
    const float scales[2] = {row_scale(tile, r), row_scale(tile, r + 8)};
    const bool mine = thread < kTile * T && tile.place.output + thread % kTile < product.outputs;
    float* out = product.out + thread / kTile * product.out_stride + tile.place.output + thread % kTile;
    const float before = mine && product.accumulate ? *out : 0.0f;
    const int lane_x = tile.packed ? 32 : 16;  // bytes of x for a lane's 16 of weights
    const unsigned char* step_x = my_x + (4 * tile.begin + c) * lane_x;
    float sums[1][4] = {};
    for (int step = 0; step < tile.count; ++step, step_x += 4 * lane_x) {
      wait_for_step<kStages - 2>();
      ahead.ask_for(rooms.ring[warp][slot == 0 ? kStages - 1 : slot - 1]);  // the place of the step before
      multiply_step<Code>(sums, rooms.ring[warp][slot], step_x, tile.packed, r < T);
      slot = slot + 1 == kStages ? 0 : slot + 1;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      rooms.sums[turn][warp][(2 * c + i % 2) * kTile + r + i / 2 * 8] = scales[i / 2] * sums[0][i];
    __syncthreads();
    if (!mine) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += rooms.sums[turn][w][thread];
    *out = before + product.scale * sum;
  }
}

}  // namespace

bool fits_linear_stream(const Products& products) {
  return products.T > 0 && products.T <= kColumns && products.T * products.inputs * 2 <= kMostX &&
         most_shared_bytes() >= sizeof(Rooms) + kMostX + kColumns * kGap;
}

void linear_stream(Stream stream, const Products& products) {
  if (products.count == 0) return;
  const std::int64_t tiles = blocks_of(products, kTile);
  const std::size_t size_bytes =
      sizeof(Rooms) + static_cast<std::size_t>(products.T * x_stride(products.inputs));
  const std::int64_t blocks = std::min<std::int64_t>(tiles, kBlocks * processors());
  with_code(code_of(products), [&]<class Code>(Code) {
    allow_shared<stream_kernel<Code>>(sizeof(Rooms) + kMostX + kColumns * kGap);
    launch(stream_kernel<Code>, static_cast<unsigned>(blocks), kWarps * kWarp, stream, size_bytes, products,
           static_cast<int>(tiles));
  });
}

}  // namespace mplus::kernels::cuda
