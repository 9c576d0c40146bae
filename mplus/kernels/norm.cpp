#include "mplus/kernels/norm.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {

void rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon) {
  check_floats(queue, {out, x, weight});
  check_matrix(x, weight.elements());
  check_same_shape(out, x);
  queue.backend().rms_norm(queue, out, x, weight, epsilon);
}

void rms_norm(Queue& queue, float* out, const float* x, const float* weight, std::int64_t T, std::int64_t d,
              float epsilon) {
  parallel_ranges(queue, T, d, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) table().rms_norm_row(out + t * d, x + t * d, weight, d, epsilon);
  });
}

}  // namespace mplus::kernels
