// silu(gate) · up with both products, their low-rank additions and the activation in one kernel, by the
// matrix instruction of a warpgroup (warpgroup.cuh). A tile is 128 rows of x and 112 outputs of gate and up
// each: the 14,336 of an 8B model are then 128 tiles, and those of 512 rows fill 132 processors four times.
// Two blocks of a cluster have the rows below one another and the same weights, each of which one of them has
// brought for both. A block works on tile after tile: one thread has pieces of 64 elements brought, four
// ahead; two warpgroups compute, 64 rows each.
//
// The additions are made with the rest, as one more piece: low · bᵀ, low being cut into two terms of bf16. A
// row's bits depend on that row alone.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/device/tensor_map.h"
#include "mplus/kernels/cuda/device/warpgroup.cuh"

namespace mplus::kernels::cuda {
namespace {

constexpr int kWorkers = 2, kBlock = (1 + kWorkers) * kWarpgroup, kCluster = 2;
constexpr int kRows = 128, kOutputs = 112, kDepth = 64, kRank = 16;  // of a tile, and of a piece

struct GatedJob {
  CUtensorMap x, gate, up, gate_b, up_b;
  const float *gate_low, *up_low;
  float scale;
  int rank;
  float* out;  // or null
  std::int64_t out_stride;
  Rounded rounded;
  int T, inputs, outputs;
};

#ifdef MPLUS_WARPGROUPS

constexpr int kStages = 4, kWorkerRows = kRows / kWorkers;
constexpr int kNear =
    8;  // pairs of row tiles that are worked on before the next ones, so that x stays at hand

struct Piece {
  bf16 x[kRows][kDepth];
  bf16 weights[2][kOutputs][kDepth];  // or, of the last piece, b of gate, zeros, b of up, in rows of kRank
};
struct Tiles {
  Piece pieces[kStages];
  Barrier there[kStages], done[kStages];
};
constexpr int kOuterBytes = kOutputs * kRank * sizeof(bf16);

// Tiles of a cluster, in order; and of each its pieces.
struct Walk {
  int pairs, tiles, pieces;  // pairs: of row tiles
  __device__ explicit Walk(const GatedJob& job)
      : pairs((job.T + kCluster * kRows - 1) / (kCluster * kRows)),
        tiles(pairs * ((job.outputs + kOutputs - 1) / kOutputs)),
        pieces((job.inputs + kDepth - 1) / kDepth) {}
  struct Place {
    int row, output;  // the first of each
  };
  __device__ Place place(int tile, int block) const {
    const int all_outputs = tiles / pairs, near = tile / (kNear * all_outputs),
              within = tile % (kNear * all_outputs);
    const int here = min(kNear, pairs - near * kNear);  // pairs of this group
    return {((near * kNear + within % here) * kCluster + block) * kRows, within / here * kOutputs};
  }
};

__device__ void bring_all(Tiles& tiles, const GatedJob& job, const Walk& walk, int block) {
  constexpr std::uint16_t kAll = (1 << kCluster) - 1;
  int n = 0;  // pieces so far
  for (int tile = static_cast<int>(blockIdx.x) / kCluster; tile < walk.tiles;
       tile += static_cast<int>(gridDim.x) / kCluster) {
    const Walk::Place at = walk.place(tile, block);
    for (int p = 0; p <= walk.pieces; ++p, ++n) {
      const int stage = n % kStages;
      Piece& piece = tiles.pieces[stage];
      Barrier& there = tiles.there[stage];
      wait(tiles.done[stage], n / kStages % 2 ^ 1);
      if (p < walk.pieces) {
        arrive_expecting(there, sizeof piece);
        copy_box(piece.x, job.x, p * kDepth, at.row, there);
        copy_box_to(kAll, piece.weights[block], block == 0 ? job.gate : job.up, p * kDepth, at.output, there);
      } else {
        auto* outer = reinterpret_cast<unsigned char*>(piece.weights);
        arrive_expecting(there, 3 * kOuterBytes);
        copy_box(outer, job.gate_b, 0, at.output, there);
        copy_box(outer + kOuterBytes, job.gate_b, 0, job.outputs, there);  // outside: zeros
        copy_box(outer + 2 * kOuterBytes, job.up_b, 0, at.output, there);
      }
    }
  }
}

using Sums = float[2 * kOutputs / 8][4];  // of gate, then of up

// scale · low of a thread's rows as operands, in two terms.
struct Low {
  std::uint32_t high[4], rest[4];
};
__device__ Low load_low(const float* low, const GatedJob& job, int row) {
  const int column = 2 * (static_cast<int>(threadIdx.x) % 4);
  Low result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int t = row + i % 2 * 8, r = column + i / 2 * 8;
    float x[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < 2; ++j)
      if (t < job.T && r + j < job.rank)
        x[j] = job.scale * low[static_cast<std::int64_t>(t) * job.rank + r + j];
    const float high[2] = {to_float(from_float<bf16>(x[0])), to_float(from_float<bf16>(x[1]))};
    result.high[i] = pack<bf16>(high[0], high[1]);
    result.rest[i] = pack<bf16>(x[0] - high[0], x[1] - high[1]);
  }
  return result;
}

__device__ float gated(float gate, float up) { return __fdividef(gate, 1.0f + __expf(-gate)) * up; }

__device__ void store(const Sums& sums, const GatedJob& job, int row, int output) {
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    const int t = row + 8 * side;
    if (t >= job.T) continue;
#pragma unroll
    for (int n = 0; n < kOutputs / 8; ++n) {
      const int column = output + 8 * n + 2 * (static_cast<int>(threadIdx.x) % 4);
      if (column >= job.outputs) continue;
      const float *gate = sums[n] + 2 * side, *up = sums[n + kOutputs / 8] + 2 * side;
      const float2 two = {gated(gate[0], up[0]), gated(gate[1], up[1])};
      if (job.out != nullptr) *reinterpret_cast<float2*>(job.out + t * job.out_stride + column) = two;
      if (job.rounded.to != nullptr)
        static_cast<std::uint32_t*>(
            job.rounded.to)[(static_cast<std::int64_t>(t) * job.outputs + column) / 2] =
            pack<bf16>(two.x, two.y);
    }
  }
}

// Of a whole warp, in both blocks: what is brought for one is brought for both.
__device__ void release(Barrier& barrier) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane < kCluster) arrive_at(lane, barrier);
}

__device__ void work(Tiles& tiles, const GatedJob& job, const Walk& walk, int block, int worker) {
  constexpr int kGroupBytes = 8 * kDepth * sizeof(bf16), kNarrowGroupBytes = 8 * kRank * sizeof(bf16);
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int local = worker * kWorkerRows + thread / kWarp * 16 + thread % kWarp / 4;
  int n = 0;
  for (int tile = static_cast<int>(blockIdx.x) / kCluster; tile < walk.tiles;
       tile += static_cast<int>(gridDim.x) / kCluster) {
    const Walk::Place at = walk.place(tile, block);
    Low lows[2] = {load_low(job.gate_low, job, at.row + local), load_low(job.up_low, job, at.row + local)};
    Sums sums;
    for (int p = 0; p < walk.pieces; ++p, ++n) {
      const int stage = n % kStages;
      const Piece& piece = tiles.pieces[stage];
      wait(tiles.there[stage], n / kStages % 2);
      const std::uint32_t x = shared_address(piece.x[worker * kWorkerRows]),
                          w = shared_address(piece.weights);
      hold(sums);
      begin_products();
#pragma unroll
      for (int k = 0; k < kDepth; k += 16)
        multiply(sums, matrix_at(x + k * sizeof(bf16), kGroupBytes, 0),
                 matrix_at(w + k * sizeof(bf16), kGroupBytes, 0), p > 0 || k > 0);
      commit_products();
      wait_products<1>();  // the piece before
      if (p > 0) release(tiles.done[(n - 1) % kStages]);
    }
    const int stage = n % kStages;
    wait(tiles.there[stage], n / kStages % 2);
    const std::uint32_t outer = shared_address(tiles.pieces[stage].weights);
    hold(sums);
    begin_products();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t b = narrow_matrix_at(outer + i * kOuterBytes, kNarrowGroupBytes);
      multiply(sums, lows[i].rest, b);
      multiply(sums, lows[i].high, b);
    }
    commit_products();
    wait_products<0>();
    hold(sums);
    release(tiles.done[(n - 1) % kStages]);
    release(tiles.done[stage]);
    ++n;
    store(sums, job, at.row + local, at.output);
  }
}

#endif

constexpr std::size_t kTilesBytes = 200'000;

__global__ void MPLUS_CLUSTERS(kCluster) __launch_bounds__(kBlock, 1)
    gated_kernel(const __grid_constant__ GatedJob job) {
#ifdef MPLUS_WARPGROUPS
  constexpr int kFew = 24, kMany = 240;  // registers
  extern __shared__ unsigned char shared[];
  Tiles& tiles = *reinterpret_cast<Tiles*>(shared + (-shared_address(shared) & 1023));
  static_assert(sizeof(Tiles) + 1024 <= kTilesBytes && sizeof(Piece) % 1024 == 0);
  const int block = block_of_cluster(), warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(tiles.there[s], 1);
      init(tiles.done[s], kCluster * kWorkers * kWarpgroup / kWarp);
    }
    show_inits();
    for (const CUtensorMap* map : {&job.x, &job.gate, &job.up, &job.gate_b, &job.up_b}) prefetch(*map);
  }
  sync_cluster();
  begin_in_turn();
  const Walk walk(job);
  if (warpgroup == 0) {
    fewer_registers<kFew>();
    if (threadIdx.x == 0) bring_all(tiles, job, walk, block);
  } else {
    more_registers<kMany>();
    work(tiles, job, walk, block, warpgroup - 1);
  }
  __syncwarp();
  sync_cluster();  // nothing comes into a block that has ended
#endif
}

}  // namespace

bool fits_gated_product(const GatedProduct& job) {
  const Adapters& adapters = job.adapters;
  return has_warpgroups() && fits_gated(adapters) && adapters.dtype == DType::bf16 &&
         adapters.rank % 8 == 0 && adapters.list[0].scale == adapters.list[1].scale &&
         job.gate.dtype == DType::bf16 && job.up.dtype == DType::bf16 && job.inputs % 8 == 0 &&
         adapters.list[0].outputs % 8 == 0;
}

bool swiglu_product(Stream stream, const GatedProduct& from) {
  const Adapter &gate = from.adapters.list[0], &up = from.adapters.list[1];
  GatedJob job{.gate_low = gate.low,
               .up_low = up.low,
               .scale = gate.scale,
               .rank = static_cast<int>(from.adapters.rank),
               .out = from.only_rounded ? nullptr : gate.out,
               .out_stride = gate.out_stride,
               .rounded = from.rounded,
               .T = static_cast<int>(from.adapters.T),
               .inputs = static_cast<int>(from.inputs),
               .outputs = static_cast<int>(gate.outputs)};
  const auto describe = [](CUtensorMap& map, const void* data, std::int64_t rows, std::int64_t width,
                           int box_rows, int box_width) {
    return describe_rows(map, {data, rows, width, width, 1, 0}, box_rows, box_width);
  };
  if (!describe(job.x, from.x, job.T, job.inputs, kRows, kDepth) ||
      !describe(job.gate, from.gate.w, job.outputs, job.inputs, kOutputs, kDepth) ||
      !describe(job.up, from.up.w, job.outputs, job.inputs, kOutputs, kDepth) ||
      !describe(job.gate_b, gate.b, job.outputs, job.rank, kOutputs, kRank) ||
      !describe(job.up_b, up.b, job.outputs, job.rank, kOutputs, kRank))
    return false;
  const int pairs = (job.T + kCluster * kRows - 1) / (kCluster * kRows),
            tiles = pairs * ((job.outputs + kOutputs - 1) / kOutputs);
  constexpr int kProcessors = 132;
  allow_shared<gated_kernel>(kTilesBytes);
  launch(gated_kernel, static_cast<unsigned>(kCluster * std::min(tiles, kProcessors / kCluster)), kBlock,
         stream, kTilesBytes, job);
  return true;
}

}  // namespace mplus::kernels::cuda
