#include "mplus/kernels/linear/norm.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon,
              std::optional<DType> read_as) {
  check_floats(queue, {out, x, weight});
  check_matrix(x, weight.elements());
  check_same_shape(out, x);
  queue.backend().rms_norm(queue, out, x, weight, epsilon, read_as);
}

}  // namespace mplus::kernels
