// What every operation asks of its tensors before it begins. Breaking it is a mistake in this program.
#pragma once

#include <initializer_list>

#include "mplus/core/error.h"
#include "mplus/core/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// f32 without gaps, on the queue's device.
inline void check_floats(const Queue& queue, std::initializer_list<ConstTensor> tensors) {
  for (const ConstTensor& x : tensors)
    MPLUS_CHECK(x.device == queue.device() && x.dtype == DType::f32 && x.contiguous(),
                "{} on {} for an operation on {}", dtype_name(x.dtype), device_name(x.device),
                device_name(queue.device()));
}

inline void check_same_shape(const ConstTensor& a, const ConstTensor& b) {
  MPLUS_CHECK(a.dimensions == b.dimensions, "{} and {} dimensions", a.dimensions, b.dimensions);
  for (int i = 0; i < a.dimensions; ++i)
    MPLUS_CHECK(a.size(i) == b.size(i), "dimension {}: {} and {}", i, a.size(i), b.size(i));
}

// [any, width]
inline void check_matrix(const ConstTensor& x, std::int64_t width) {
  MPLUS_CHECK(x.dimensions == 2 && x.size(1) == width, "{} dimensions, rows of {}; expected rows of {}",
              x.dimensions, x.size(1), width);
}

}  // namespace mplus::kernels
