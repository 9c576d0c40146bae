// Element-wise operations. The bits of an element depend on its operands alone, not on where it stands.
#pragma once

#include <cstdint>

#include "mplus/core/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out = silu(gate) * up, silu(x) = x / (1 + e^-x). out may equal gate.
void swiglu(Queue& queue, Tensor out, ConstTensor gate, ConstTensor up);
void silu(Queue& queue, Tensor x);
// Every row of x[T,d] += row[d].
void add_row(Queue& queue, Tensor x, ConstTensor row);

// The processor's halves.
void swiglu(Queue& queue, float* out, const float* gate, const float* up, std::int64_t n);
void silu(Queue& queue, float* x, std::int64_t n);
void add(Queue& queue, float* x, const float* y, std::int64_t n);  // x += y
void add_row(Queue& queue, float* x, const float* row, std::int64_t T, std::int64_t d);

}  // namespace mplus::kernels
