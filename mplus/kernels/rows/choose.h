// Which token follows, of several rows of logits.
#pragma once

#include <span>

#include "mplus/core/numbers/choose.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out[r], i64: the token that choices[r] takes by row r of logits[rows, vocab], f32, to which its edits are
// made in place.
void choose(Queue& queue, Tensor out, Tensor logits, std::span<const Choice> choices);

}  // namespace mplus::kernels
