// Element-wise operations. The bits of an element depend on its operands alone, not on where it stands.
#pragma once

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out = silu(gate) * up, silu(x) = x / (1 + e^-x). out may equal gate.
void swiglu(Queue& queue, Tensor out, ConstTensor gate, ConstTensor up);
void silu(Queue& queue, Tensor x);
// Every row of x[T,d] += row[d].
void add_row(Queue& queue, Tensor x, ConstTensor row);

}  // namespace mplus::kernels
