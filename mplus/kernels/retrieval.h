// Retrieval scores of stored keys against a prompt's queries (spec section 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/dtype.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// scores[j] = mean over t of sigmoid(q_t · key_j); q[T,d_r] f32, keys[n,d_r] f32 or bf16, or (i8) n small
// keys of core/row_format.h: q is then rounded to int8 too, and products are summed in integers. One pass
// over the keys, nothing of size [T,n]. T ≥ 1 when n > 0. A score's bits depend on q and its own key alone.
void retrieval_scores(Queue& queue, float* scores, const float* q, std::int64_t T, const void* keys,
                      DType dtype, std::int64_t n, std::int64_t d_r);

// The same for keys that lie in several places: the threads share all of them at once.
struct KeyBlock {
  const void* keys = nullptr;  // [n, d_r], or n small keys
  float* scores = nullptr;     // [n]
  std::int64_t n = 0;
};
void retrieval_scores(Queue& queue, std::span<const KeyBlock> blocks, const float* q, std::int64_t T,
                      DType dtype, std::int64_t d_r);

// The same for keys that lie one by one: scores[j] is of the key at keys[j].
void retrieval_scores(Queue& queue, std::span<const std::byte* const> keys, float* scores, const float* q,
                      std::int64_t T, DType dtype, std::int64_t d_r);

}  // namespace mplus::kernels
