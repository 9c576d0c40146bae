// How much each of several rows counts in the one vector that stands for them.
#pragma once

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// shares[T] = softmax over t of x[t,:] · vector, for x[T,d] and vector[d].
void pooling_shares(Queue& queue, Tensor shares, ConstTensor x, ConstTensor vector);

}  // namespace mplus::kernels
