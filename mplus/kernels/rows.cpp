#include "mplus/kernels/rows.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void copy(Context& context, Tensor out, ConstTensor in) {
  check_same_shape(out, in);
  MPLUS_CHECK(out.device == context.device() && in.device == context.device(), "from {} to {} on {}",
              device_name(in.device), device_name(out.device), device_name(context.device()));
  MPLUS_CHECK(is_float(out.dtype) && is_float(in.dtype) && out.dimensions <= 2, "{} as {} in {} dimensions",
              dtype_name(in.dtype), dtype_name(out.dtype), out.dimensions);
  context.backend().copy(context, out, in);
}

void fill(Context& context, Tensor out, float value) {
  check_floats(context, {out});
  context.backend().fill(context, out, value);
}

bool all_finite(Context& context, ConstTensor x) {
  check_floats(context, {x});
  return context.backend().all_finite(context, x);
}

}  // namespace mplus::kernels
