// Between f32 and the float types of files and memories; rounds to nearest even.
#pragma once

#include <cstdint>

#include "mplus/core/numbers/dtype.h"

namespace mplus::kernels {

void to_f32(float* out, const void* in, DType dtype, std::int64_t n);    // dtype: f32, f16, bf16
void from_f32(void* out, DType dtype, const float* in, std::int64_t n);  // dtype: f32, f16, bf16

}  // namespace mplus::kernels
