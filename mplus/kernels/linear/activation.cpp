#include "mplus/kernels/linear/activation.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void swiglu(Queue& queue, Tensor out, ConstTensor gate, ConstTensor up) {
  check_floats(queue, {out, gate, up});
  check_same_shape(out, gate);
  check_same_shape(out, up);
  queue.backend().swiglu(queue, out, gate, up);
}

void silu(Queue& queue, Tensor x) {
  check_floats(queue, {x});
  queue.backend().silu(queue, x);
}

void add_row(Queue& queue, Tensor x, ConstTensor row) {
  check_floats(queue, {x, row});
  check_matrix(x, row.elements());
  queue.backend().add_row(queue, x, row);
}

}  // namespace mplus::kernels
