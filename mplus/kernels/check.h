// What every operation asks of its tensors before it begins. Breaking it is a mistake in this program.
#pragma once

#include <initializer_list>

#include "mplus/core/error.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// f32 without gaps, on this device.
inline void check_floats(const Device& device, std::initializer_list<ConstTensor> tensors) {
  for (const ConstTensor& x : tensors)
    MPLUS_CHECK(x.device == device && x.dtype == DType::f32 && x.contiguous(),
                "{} on {} for an operation on {}", dtype_name(x.dtype), device_name(x.device),
                device_name(device));
}
inline void check_floats(const Queue& queue, std::initializer_list<ConstTensor> tensors) {
  check_floats(queue.device(), tensors);
}

inline void check_device(const Queue& queue, const Matrix& w) {
  MPLUS_CHECK(w.device == queue.device(), "weights on {} for an operation on {}", device_name(w.device),
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
