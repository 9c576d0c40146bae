#include "mplus/kernels/rows/convert.h"

#include "mplus/core/error.h"
#include "mplus/kernels/isa.h"

namespace mplus::kernels {

void to_f32(float* out, const void* in, DType dtype, std::int64_t n) {
  MPLUS_CHECK(is_float(dtype), "from type {}", dtype_name(dtype));
  table().to_f32(out, in, dtype, n);
}

void from_f32(void* out, DType dtype, const float* in, std::int64_t n) {
  MPLUS_CHECK(is_float(dtype), "to type {}", dtype_name(dtype));
  table().from_f32(out, dtype, in, n);
}

}  // namespace mplus::kernels
