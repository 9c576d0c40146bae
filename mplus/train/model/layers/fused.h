// Element-wise parts of a decoder layer, there and back. On a GPU in bfloat16 each is one kernel
// (gpu/fused_kernels.cu); elsewhere they are composed of torch's operations. Arithmetic is in float32 at
// least, in double where x is double. Only rms_norm is seen by autograd; the others are what
// decoder_layer.cpp is made of.
#pragma once

#include "mplus/train/model/layers/rope.h"

namespace mplus::train {

Tensor rms_norm(const Tensor& x, const Tensor& weight,
                float epsilon);  // x [..., d], weight [d]; with gradients

struct Normed {
  Tensor y;
  Tensor inverse;  // [rows]: 1 / root mean square of each
};
Normed normalise(const Tensor& x, const Tensor& weight, float epsilon);
// plus + the gradient of x, where `plus` (if defined) is what reaches x on another way.
Tensor normalise_back(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inverse,
                      const Tensor& plus);
Tensor normalise_weight_back(const Tensor& dy, const Tensor& x, const Tensor& inverse);  // of the weight

Tensor swiglu(const Tensor& gate_up);  // [..., 2F] → silu(first half) · second half
Tensor swiglu_back(const Tensor& dy, const Tensor& gate_up);

// to = from rotated by the angles of `at`, or rotated back. Both [B, rows, heads, e], in any part of larger
// tensors; `at` holds `rows` positions.
enum class Rotate { forward, back };
void rotate_into(const Tensor& from, const Tensor& to, const Rotation& at, Rotate way);

}  // namespace mplus::train
