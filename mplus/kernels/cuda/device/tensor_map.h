// Describes matrices of bf16 to the copy engine of sm_90 (warpgroup.cuh).
#pragma once

#include <cuda.h>

#include <cstdint>

namespace mplus::kernels::cuda {

// Matrices one behind the other; sizes and distances in elements.
struct MatrixRows {
  const void* data = nullptr;
  std::int64_t rows = 0, width = 0, stride = 0;
  std::int64_t count = 1, apart = 0;
};
// For boxes of box_rows × box_width, which is 64 elements or 16: rows of 128 bytes or 32 in shared memory, as
// matrix_at() and narrow_matrix_at() mean them. Of two dimensions, or three where there are several. False
// where the driver does not.
bool describe_rows(CUtensorMap& map, const MatrixRows& rows, int box_rows, int box_width);

}  // namespace mplus::kernels::cuda
