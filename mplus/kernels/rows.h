// Moving rows about, and looking whether they are numbers.
#pragma once

#include "mplus/core/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out = in, of the same shape, each row without gaps; between f32, f16 and bf16 it rounds to nearest even.
// They must not overlap.
void copy(Queue& queue, Tensor out, ConstTensor in);
void fill(Queue& queue, Tensor out, float value);
// No NaN and no infinity in x. The only operation that waits for the device.
bool all_finite(Queue& queue, ConstTensor x);

}  // namespace mplus::kernels
