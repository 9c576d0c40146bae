#include "mplus/train/gpu/vote_kernels.h"

#include <mma.h>

namespace mplus::train::cuda {
namespace {

namespace wmma = nvcuda::wmma;

// A block takes one question (or one tile of keys) and goes through tiles of 64 keys (or through questions).
// Each of its four warps has 16 of the 64 keys to itself, and goes through the question's tokens 16 at a
// time: a tile of 16 × 16 products, in the warp's own shared memory, is all there ever is of [tokens, rows].
constexpr int kWarp = 32, kWarps = 4, kThreads = kWarp * kWarps;
constexpr int kTile = 16, kKeys = kTile * kWarps;
constexpr int kE = kScoreWidth, kSteps = kE / kTile;
constexpr int kPitch =
    kE + 8;  // of rows in shared memory: apart, so that loads of a column meet no bank twice
constexpr int kTokenTiles = kScoreTokens / kTile;

using RowsA = wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, bf16, wmma::row_major>;
using ColsA = wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, bf16, wmma::col_major>;
using RowsB = wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, bf16, wmma::row_major>;
using ColsB = wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, bf16, wmma::col_major>;
using Sum = wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float>;

struct Question {
  bf16 tokens[kScoreTokens * kPitch];
  float weights[kScoreTokens];
};

struct WarpTile {
  float products[kTile * kTile];
  bf16 gradients[kTile * kTile];
};

// Rows `first` … of a [rows, 64] matrix, zeros behind its end.
__device__ void load_rows(const bf16* from, std::int64_t first, std::int64_t rows, int count, bf16* to) {
  constexpr int kPerLoad = 8;  // of 16 bytes
  for (int i = threadIdx.x; i < count * (kE / kPerLoad); i += kThreads) {
    const int row = i / (kE / kPerLoad), at = i % (kE / kPerLoad) * kPerLoad;
    const uint4 zero = make_uint4(0, 0, 0, 0);
    *reinterpret_cast<uint4*>(to + row * kPitch + at) =
        first + row < rows ? *reinterpret_cast<const uint4*>(from + (first + row) * kE + at) : zero;
  }
}

__device__ void load_question(const AskedKeys& asked, std::int64_t q, Question& to) {
  const int T = asked.T;
  load_rows(asked.queries + q * T * kE, 0, T, kScoreTokens, to.tokens);
  for (int t = threadIdx.x; t < kScoreTokens; t += kThreads)
    to.weights[t] = t < T ? asked.weights[q * T + t] : 0;
}

__device__ bool asks(const Question& question, int tile) {
  const int lane = threadIdx.x % kWarp;
  return __any_sync(0xffffffffu, lane < kTile && question.weights[tile * kTile + lane] != 0);
}

// Products of 16 tokens with the warp's 16 keys: tile.products[token][key].
__device__ void multiply(const Question& question, int tile, const ColsB* keys, WarpTile& to) {
  Sum sum;
  wmma::fill_fragment(sum, 0.f);
  for (int s = 0; s < kSteps; ++s) {
    RowsA tokens;
    wmma::load_matrix_sync(tokens, question.tokens + tile * kTile * kPitch + s * kTile, kPitch);
    wmma::mma_sync(sum, tokens, keys[s], sum);
  }
  wmma::store_matrix_sync(to.products, sum, kTile, wmma::mem_row_major);
  __syncwarp();
}

__device__ float sigmoid(float x) { return __fdividef(1.f, 1.f + __expf(-x)); }

// From products to the gradient of each: dscore[key] · weight[token] · σ'(product), in bfloat16.
__device__ void to_gradients(const Question& question, int tile, float dscore, WarpTile& in) {
  const int lane = threadIdx.x % kWarp, key = lane % kTile;
  for (int row = lane / kTile; row < kTile; row += kWarp / kTile) {
    const float s = sigmoid(in.products[row * kTile + key]);
    in.gradients[row * kTile + key] =
        __float2bfloat16(dscore * question.weights[tile * kTile + row] * s * (1 - s));
  }
  __syncwarp();
}

__global__ void scores_kernel(AskedKeys asked, float* scores, int tiles_a_block) {
  __shared__ __align__(32) Question question;
  __shared__ __align__(32) bf16 key_rows[kKeys * kPitch];
  __shared__ __align__(32) WarpTile tiles[kWarps];
  const std::int64_t q = blockIdx.y;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, key = lane % kTile;
  WarpTile& tile = tiles[warp];
  load_question(asked, q, question);
  for (int i = 0; i < tiles_a_block; ++i) {
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * tiles_a_block + i) * kKeys;
    if (first >= asked.rows) break;
    __syncthreads();  // nobody reads the tile before any more
    load_rows(asked.keys, first, asked.rows, kKeys, key_rows);
    __syncthreads();
    ColsB own[kSteps];
    for (int s = 0; s < kSteps; ++s)
      wmma::load_matrix_sync(own[s], key_rows + warp * kTile * kPitch + s * kTile, kPitch);
    float sum = 0;
    for (int t = 0; t < kTokenTiles; ++t) {
      if (!asks(question, t)) continue;
      multiply(question, t, own, tile);
      for (int row = lane / kTile; row < kTile; row += kWarp / kTile)
        sum += question.weights[t * kTile + row] * sigmoid(tile.products[row * kTile + key]);
      __syncwarp();
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, kTile);
    const std::int64_t row = first + warp * kTile + key;
    if (lane < kTile && row < asked.rows) scores[q * asked.rows + row] = sum;
  }
}

// dqueries[q, t] += Σ_j gradient[t, j] · keys[j] over the block's share of the keys.
__global__ void __launch_bounds__(kThreads)
    queries_backward_kernel(AskedKeys asked, const float* dscores, float* dqueries, int tiles_a_block) {
  __shared__ __align__(32) Question question;
  __shared__ __align__(32) bf16 key_rows[kKeys * kPitch];
  __shared__ __align__(32) WarpTile tiles[kWarps];
  const std::int64_t q = blockIdx.y;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, key = lane % kTile;
  WarpTile& tile = tiles[warp];
  load_question(asked, q, question);
  Sum sums[kTokenTiles][kSteps];
  for (auto& row : sums)
    for (Sum& sum : row) wmma::fill_fragment(sum, 0.f);
  for (int i = 0; i < tiles_a_block; ++i) {
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * tiles_a_block + i) * kKeys;
    if (first >= asked.rows) break;
    __syncthreads();
    load_rows(asked.keys, first, asked.rows, kKeys, key_rows);
    __syncthreads();
    const bf16* own_rows = key_rows + warp * kTile * kPitch;
    const std::int64_t row = first + warp * kTile + key;
    const float dscore = row < asked.rows ? dscores[q * asked.rows + row] : 0;
    if (!__any_sync(0xffffffffu, dscore != 0)) continue;
    ColsB own[kSteps];
    for (int s = 0; s < kSteps; ++s) wmma::load_matrix_sync(own[s], own_rows + s * kTile, kPitch);
#pragma unroll
    for (int t = 0; t < kTokenTiles; ++t) {
      if (!asks(question, t)) continue;
      multiply(question, t, own, tile);
      to_gradients(question, t, dscore, tile);
      RowsA gradients;  // [token, key]
      wmma::load_matrix_sync(gradients, tile.gradients, kTile);
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        RowsB values;  // [key, e]
        wmma::load_matrix_sync(values, own_rows + s * kTile, kPitch);
        wmma::mma_sync(sums[t][s], gradients, values, sums[t][s]);
      }
      __syncwarp();
    }
  }
#pragma unroll
  for (int t = 0; t < kTokenTiles; ++t) {
    if (!asks(question, t)) continue;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      wmma::store_matrix_sync(tile.products, sums[t][s], kTile, wmma::mem_row_major);
      __syncwarp();
      for (int at = lane; at < kTile * kTile; at += kWarp) {
        const int token = t * kTile + at / kTile;
        if (token < asked.T)
          atomicAdd(dqueries + (q * asked.T + token) * kE + s * kTile + at % kTile, tile.products[at]);
      }
      __syncwarp();
    }
  }
}

// dkeys[j] = Σ_q Σ_t gradient[t, j] · queries[q, t], for the block's 64 keys.
__global__ void keys_backward_kernel(AskedKeys asked, const float* dscores, float* dkeys) {
  __shared__ __align__(32) Question question;
  __shared__ __align__(32) bf16 key_rows[kKeys * kPitch];
  __shared__ __align__(32) WarpTile tiles[kWarps];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, key = lane % kTile;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kKeys;
  const std::int64_t row = first + warp * kTile + key;
  WarpTile& tile = tiles[warp];
  load_rows(asked.keys, first, asked.rows, kKeys, key_rows);
  __syncthreads();
  ColsB own[kSteps];
  for (int s = 0; s < kSteps; ++s)
    wmma::load_matrix_sync(own[s], key_rows + warp * kTile * kPitch + s * kTile, kPitch);
  Sum sums[kSteps];
  for (Sum& sum : sums) wmma::fill_fragment(sum, 0.f);
  for (std::int64_t q = 0; q < asked.n; ++q) {
    __syncthreads();
    load_question(asked, q, question);
    __syncthreads();
    const float dscore = row < asked.rows ? dscores[q * asked.rows + row] : 0;
    if (!__any_sync(0xffffffffu, dscore != 0)) continue;
    for (int t = 0; t < kTokenTiles; ++t) {
      if (!asks(question, t)) continue;
      multiply(question, t, own, tile);
      to_gradients(question, t, dscore, tile);
      ColsA gradients;  // [key, token]: the tile read along its columns
      wmma::load_matrix_sync(gradients, tile.gradients, kTile);
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        RowsB tokens;  // [token, e]
        wmma::load_matrix_sync(tokens, question.tokens + t * kTile * kPitch + s * kTile, kPitch);
        wmma::mma_sync(sums[s], gradients, tokens, sums[s]);
      }
      __syncwarp();
    }
  }
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    wmma::store_matrix_sync(tile.products, sums[s], kTile, wmma::mem_row_major);
    __syncwarp();
    for (int at = lane; at < kTile * kTile; at += kWarp)
      if (const std::int64_t to = first + warp * kTile + at / kTile; to < asked.rows)
        dkeys[to * kE + s * kTile + at % kTile] = tile.products[at];
    __syncwarp();
  }
}

// A warp a row: each lane holds up to four numbers; `top` times the largest one left is taken.
__global__ void best_mean_kernel(const float* x, float* mean, std::uint8_t* chosen, std::int64_t rows,
                                 int width, int top) {
  constexpr int kEach = 4;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (row >= rows) return;
  float left[kEach];
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kWarp + lane;
    left[i] = at < width ? x[row * width + at] : -INFINITY;
  }
  unsigned taken = 0;
  float sum = 0;
  for (int k = 0; k < top; ++k) {
    float best = -INFINITY;
    int at = kEach * kWarp;
    for (int i = 0; i < kEach; ++i)
      if (left[i] > best) {
        best = left[i];
        at = i * kWarp + lane;
      }
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, step);
      const int other_at = __shfl_xor_sync(0xffffffffu, at, step);
      if (other > best || (other == best && other_at < at)) {
        best = other;
        at = other_at;
      }
    }
    sum += best;
    if (at % kWarp == lane) {
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        if (i == at / kWarp) left[i] = -INFINITY, taken |= 1u << i;
    }
  }
  if (lane == 0) mean[row] = sum / static_cast<float>(top);
  for (int i = 0; i < kEach; ++i)
    if (const int at = i * kWarp + lane; at < width) chosen[row * width + at] = taken >> i & 1;
}

__global__ void best_mean_backward_kernel(const float* dmean, const std::uint8_t* chosen, float* dx,
                                          std::int64_t numbers, int width, float each) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at < numbers) dx[at] = chosen[at] ? dmean[at / width] * each : 0.f;
}

unsigned blocks_for(std::int64_t items, int per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

}  // namespace

void asked_scores(const AskedKeys& asked, float* scores, cudaStream_t stream) {
  if (asked.n == 0 || asked.rows == 0) return;
  constexpr int kTiles = 16;  // of keys that a block goes through: the question is loaded once for them
  const dim3 grid(blocks_for(asked.rows, kKeys * kTiles), static_cast<unsigned>(asked.n));
  scores_kernel<<<grid, kThreads, 0, stream>>>(asked, scores, kTiles);
}

void asked_scores_backward(const AskedKeys& asked, const float* dscores, float* dqueries, float* dkeys,
                           cudaStream_t stream) {
  if (asked.rows == 0) return;
  constexpr int kTiles = 64;
  if (asked.n > 0) {
    const dim3 grid(blocks_for(asked.rows, kKeys * kTiles), static_cast<unsigned>(asked.n));
    queries_backward_kernel<<<grid, kThreads, 0, stream>>>(asked, dscores, dqueries, kTiles);
  }
  keys_backward_kernel<<<blocks_for(asked.rows, kKeys), kThreads, 0, stream>>>(asked, dscores, dkeys);
}

void best_mean(const BestOfRows& of, const float* x, float* mean, std::uint8_t* chosen, cudaStream_t stream) {
  if (of.rows == 0) return;
  best_mean_kernel<<<blocks_for(of.rows, kWarps), kThreads, 0, stream>>>(x, mean, chosen, of.rows, of.width,
                                                                         of.top);
}

void best_mean_backward(const BestOfRows& of, const float* dmean, const std::uint8_t* chosen, float* dx,
                        cudaStream_t stream) {
  if (of.rows == 0) return;
  const std::int64_t numbers = of.rows * of.width;
  best_mean_backward_kernel<<<blocks_for(numbers, kThreads), kThreads, 0, stream>>>(
      dmean, chosen, dx, numbers, of.width, 1.f / static_cast<float>(of.top));
}

}  // namespace mplus::train::cuda
