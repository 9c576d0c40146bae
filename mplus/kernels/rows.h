// Moving rows about, and looking whether they are numbers.
#pragma once

#include "mplus/core/tensor.h"
#include "mplus/kernels/context.h"

namespace mplus::kernels {

// out = in, of the same shape, each row without gaps; between f32, f16 and bf16 it rounds to nearest even.
// They must not overlap.
void copy(Context& context, Tensor out, ConstTensor in);
void fill(Context& context, Tensor out, float value);
// No NaN and no infinity in x. The only operation that waits for the device.
bool all_finite(Context& context, ConstTensor x);

}  // namespace mplus::kernels
