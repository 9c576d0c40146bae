// Causal grouped-query attention over a KvCache. Queries are already rotated; the cache already holds the
// queries' own keys and values, so query t of T sees the first rows - T + 1 + t rows. Scores are scaled by
// 1/sqrt(e). A result's bits do not depend on the thread count.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

struct AttendItem {
  Tensor out;     // [T, H·e] f32
  ConstTensor q;  // [T, H·e] f32
  KvCache cache;
};

// out from q, for the queries of several sessions, each over its own cache; works block by block, nothing of
// size [T, rows] is kept. Every result has the bits it has alone.
void attend(Queue& queue, std::span<const AttendItem> items, const KvShape& shape);
void attend(Queue& queue, Tensor out, ConstTensor q, const KvCache& cache, const KvShape& shape);

// The softmax weights themselves, out[H, T, rows], zero where a query may not look. For inspection; slow.
void attention_weights(Queue& queue, Tensor out, ConstTensor q, const KvCache& cache, const KvShape& shape);

}  // namespace mplus::kernels
