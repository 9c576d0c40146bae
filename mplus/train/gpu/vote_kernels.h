// CUDA kernels of train/retriever/vote_scores.cpp. Plain pointers, so that no torch header goes through nvcc.
// All launch on the given stream and return at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace mplus::train::cuda {

using bf16 = __nv_bfloat16;

constexpr int kScoreWidth = 64;   // e, of queries and keys
constexpr int kScoreTokens = 64;  // most tokens of a question

struct AskedKeys {
  const bf16* queries;
  const float* weights;
  const bf16* keys;
  std::int64_t n;
  int T;
  std::int64_t rows;
};
// scores[q, j] = Σ_t weights[q, t] · sigmoid(queries[q, t] · keys[j]). queries [n, T, 64], T ≤ 64; keys
// [rows, 64].
void asked_scores(const AskedKeys& asked, float* scores, cudaStream_t stream);
// dqueries [n, T, 64] must hold zeros; dkeys [rows, 64] is written.
void asked_scores_backward(const AskedKeys& asked, const float* dscores, float* dqueries, float* dkeys,
                           cudaStream_t stream);

struct BestOfRows {
  std::int64_t rows;
  int width, top;
};
// Mean of the `top` largest of each row's `width` (≤ 128) numbers; chosen [rows, width] has 1 where a number
// counts.
void best_mean(const BestOfRows& of, const float* x, float* mean, std::uint8_t* chosen, cudaStream_t stream);
void best_mean_backward(const BestOfRows& of, const float* dmean, const std::uint8_t* chosen, float* dx,
                        cudaStream_t stream);

}  // namespace mplus::train::cuda
