// Root-mean-square normalisation.
#pragma once

#include "mplus/core/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out[t,:] = x[t,:] / sqrt(mean(x[t,:]²) + epsilon) * weight[d], for x[T,d]. out may equal x. The bits of a
// row depend on that row alone.
void rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon);

}  // namespace mplus::kernels
