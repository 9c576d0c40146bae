#include "mplus/kernels/pooling.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void pooling_shares(Context& context, Tensor shares, ConstTensor x, ConstTensor vector) {
  check_floats(context, {shares, x, vector});
  check_matrix(x, vector.elements());
  MPLUS_CHECK(shares.dimensions == 1 && shares.size(0) == x.size(0), "{} shares of {} rows",
              shares.elements(), x.size(0));
  context.backend().pooling_shares(context, shares, x, vector);
}

}  // namespace mplus::kernels
