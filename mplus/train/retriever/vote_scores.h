// Scores of memory rows for questions, as the vote takes them, with gradients. On a GPU in bfloat16 the
// numbers between a question's tokens and a row never leave a tile (vote_kernels.cu); elsewhere they are
// composed of torch's operations.
#pragma once

#include "mplus/train/torch.h"

namespace mplus::train {

// p[q, j] = Σ_t weights[q, t] · sigmoid(queries[q, t] · keys[j]), in float32 at least. queries [n, T, e],
// weights [n, T] (constants), keys [rows, e]; the result is [n, rows].
Tensor asked_scores(const Tensor& queries, const Tensor& weights, const Tensor& keys);

// The mean of the `top` largest of the last dimension (all of them where top is 0 or too large); of equal
// numbers the first ones count.
Tensor best_mean(const Tensor& scores, std::int64_t top);

}  // namespace mplus::train
