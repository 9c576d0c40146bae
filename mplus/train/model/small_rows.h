// Long-term rows in few bits over tensors: what core/numbers/row_format.h makes of single vectors, with the
// same bits on a CPU and on a GPU. A row's bytes follow from its values alone, so it does not matter when it
// is made small: here keys and values are when they are recalled, retriever keys when a row is dropped.
#pragma once

#include "mplus/core/numbers/row_format.h"
#include "mplus/train/torch.h"

namespace mplus::train {

// The values [..., n] that come back from small vectors, in float32. Like the engine's rows they are rounded
// to bfloat16 before they are made small.
Tensor through_small_vectors(const Tensor& values, RowFormat format);

// Small keys of values [..., n], rounded to bfloat16 first.
struct SmallKeys {
  Tensor codes;   // [..., n], int8
  Tensor scales;  // [...], float32
};
SmallKeys small_keys(const Tensor& values);

// p_j = Σ_t weights_t · sigmoid(q_t · k_j), [B, n], as the engine scores small keys: queries [B, T, d_r] are
// rounded to int8 as well, with a scale for each, and products are summed exactly. codes [B, n, d_r], scales
// [B, n].
Tensor small_recall_scores(const Tensor& queries, const SmallKeys& keys, const Tensor& weights);

}  // namespace mplus::train
