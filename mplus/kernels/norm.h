// Root-mean-square normalisation.
#pragma once

#include <cstdint>

#include "mplus/core/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out[t,:] = x[t,:] / sqrt(mean(x[t,:]²) + epsilon) * weight[d], for x[T,d]. out may equal x. The bits of a
// row depend on that row alone.
void rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon);

// The processor's half.
void rms_norm(Queue& queue, float* out, const float* x, const float* weight, std::int64_t T, std::int64_t d,
              float epsilon);

}  // namespace mplus::kernels
