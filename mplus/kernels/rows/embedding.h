// Tokens as vectors.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// out[t,:] = table[ids[t],:] as f32, for out[T,d] and a table [V,d] of any type a file has. Every id lies in
// [0, V).
void embed(Queue& queue, Tensor out, const Matrix& table, std::span<const std::int32_t> ids);

}  // namespace mplus::kernels
