// Retrieval scores of stored keys against a prompt's queries (docs/algorithm.md, "Recall"). The device is the
// one the keys lie on: the queue's, or the host, where the processor computes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::kernels {

// Keys are [n, d_r], f32 or bf16; or i8, [n, small_key_bytes(d_r)]: small keys of core/numbers/row_format.h.
ConstTensor key_tensor(const void* keys, DType dtype, std::int64_t n, std::int64_t d_r, Device device = {});

struct KeyBlock {
  ConstTensor keys;
  Tensor scores;  // [n] f32
};

// scores[j] = mean over t of sigmoid(q_t · key_j); q[T, d_r] f32, T ≥ 1 where there are keys. For small keys
// q is rounded to int8 too, and products are summed in integers. One pass over the keys of all blocks, which
// are of one type; nothing of size [T, n]. A score's bits depend on q and its own key alone.
void retrieval_scores(Queue& queue, std::span<const KeyBlock> blocks, ConstTensor q);
// The same for several q, each with keys of its own (the layers of a memory), all of one shape and with keys
// of one type: in one go.
struct QueryKeys {
  ConstTensor q;
  std::span<const KeyBlock> blocks;
};
void retrieval_scores(Queue& queue, std::span<const QueryKeys> layers);
void retrieval_scores(Queue& queue, Tensor scores, ConstTensor q, ConstTensor keys);

// The same for keys by their index: scores[j] is of row places[j].row of blocks[places[j].block].
struct KeyGather {
  std::span<const ConstTensor> blocks;  // those named are of one type, on one device
  std::span<const RowPlace> places;     // in host memory
};
void retrieval_scores(Queue& queue, Tensor scores, ConstTensor q, const KeyGather& keys);

}  // namespace mplus::kernels
