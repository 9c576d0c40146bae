#include "mplus/kernels/rows.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void copy(Queue& queue, Tensor out, ConstTensor in) {
  check_same_shape(out, in);
  MPLUS_CHECK(out.device == queue.device() && in.device == queue.device(), "from {} to {} on {}",
              device_name(in.device), device_name(out.device), device_name(queue.device()));
  MPLUS_CHECK(is_float(out.dtype) && is_float(in.dtype) && out.dimensions <= 2, "{} as {} in {} dimensions",
              dtype_name(in.dtype), dtype_name(out.dtype), out.dimensions);
  queue.backend().copy(queue, out, in);
}

void fill(Queue& queue, Tensor out, float value) {
  check_floats(queue, {out});
  queue.backend().fill(queue, out, value);
}

bool all_finite(Queue& queue, ConstTensor x) {
  check_floats(queue, {x});
  return queue.backend().all_finite(queue, x);
}

}  // namespace mplus::kernels
