// Element-wise operations. The bits of an element depend on its operands alone, not on where it stands.
#pragma once

#include <cstdint>

#include "mplus/core/tensor.h"
#include "mplus/kernels/context.h"

namespace mplus::kernels {

// out = silu(gate) * up, silu(x) = x / (1 + e^-x). out may equal gate.
void swiglu(Context& context, Tensor out, ConstTensor gate, ConstTensor up);
void silu(Context& context, Tensor x);
// Every row of x[T,d] += row[d].
void add_row(Context& context, Tensor x, ConstTensor row);

// The processor's halves.
void swiglu(Context& context, float* out, const float* gate, const float* up, std::int64_t n);
void silu(Context& context, float* x, std::int64_t n);
void add(Context& context, float* x, const float* y, std::int64_t n);  // x += y
void add_row(Context& context, float* x, const float* row, std::int64_t T, std::int64_t d);

}  // namespace mplus::kernels
