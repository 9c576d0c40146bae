// Element-wise parts of a decoder layer with their gradients. On a GPU in bfloat16 each is one kernel forward
// and one back and keeps only its input (fused_kernels.cu); elsewhere, and where a norm's weight is trained,
// they are composed of torch's operations. Arithmetic is in float32 at least, in double where x is double.
#pragma once

#include "mplus/train/rope.h"

namespace mplus::train {

Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon);  // x [..., d], weight [d]

Tensor rotate(const Tensor& x, const Rotation& at);  // x [B, rows, heads, e]; `at` holds `rows` positions

Tensor swiglu(const Tensor& gate_up);  // [..., 2F] → silu(first half) · second half

}  // namespace mplus::train
