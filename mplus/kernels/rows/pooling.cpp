#include "mplus/kernels/rows/pooling.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void pooling_shares(Queue& queue, Tensor shares, ConstTensor x, ConstTensor vector) {
  check_floats(queue, {shares, x, vector});
  check_matrix(x, vector.elements());
  MPLUS_CHECK(shares.dimensions == 1 && shares.size(0) == x.size(0), "{} shares of {} rows",
              shares.elements(), x.size(0));
  queue.backend().pooling_shares(queue, shares, x, vector);
}

}  // namespace mplus::kernels
