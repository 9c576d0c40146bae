// Root-mean-square normalisation.
#pragma once

#include <optional>

#include "mplus/core/numbers/dtype.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out[t,:] = x[t,:] / sqrt(mean(x[t,:]²) + epsilon) * weight[d], for x[T,d]. out may equal x. The bits of a
// row depend on that row alone. `read_as`: only products with matrices of this type read it next (linear.h,
// adapter.h; of all its rows or the first ones), for which a device may leave it elsewhere; then the tensor
// itself may hold anything.
void rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon,
              std::optional<DType> read_as = {});

}  // namespace mplus::kernels
