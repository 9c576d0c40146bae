// The best of many scores, without putting them in order.
#pragma once

#include <cstdint>

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

struct BestScores {
  Tensor places;  // [room] i32
  Tensor values;  // [room] f32
  Tensor count;   // [1] i64
};

// Every score that is no less than the `wanted`-th best, with its place in scores[n], in no order; equals of
// the wanted-th are all among them. NaN does not count. `count`: how many there are, also where the room ends
// before.
void best_scores(Queue& queue, const BestScores& out, ConstTensor scores, std::int64_t wanted);

}  // namespace mplus::kernels
