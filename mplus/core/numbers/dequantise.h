// The one reference statement of what stored numbers mean. Kernels may be faster, never different; the
// trainer reads its base weights through here.
#pragma once

#include <cstdint>

#include "mplus/core/tensors/buffer.h"

namespace mplus {

// One row as floats, out[w.cols]. Any dtype of Matrix; an i8 row is multiplied by its entry of row_scales
// where there is one. i64 and i32 are rounded to the nearest float.
void dequantise_row(float* out, const Matrix& w, std::int64_t row);

}  // namespace mplus
