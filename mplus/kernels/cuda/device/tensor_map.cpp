#include "mplus/kernels/cuda/device/tensor_map.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

namespace mplus::kernels::cuda {
namespace {

PFN_cuTensorMapEncodeTiled_v12000 find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
  cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found);
}

}  // namespace

bool describe_rows(CUtensorMap& map, const MatrixRows& rows, int box_rows, int box_width) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_encode();
  constexpr cuuint64_t kElement = 2;  // bytes
  constexpr int kNarrow = 16;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(rows.width), static_cast<cuuint64_t>(rows.rows),
                              static_cast<cuuint64_t>(rows.count)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(rows.stride) * kElement,
                                static_cast<cuuint64_t>(rows.apart) * kElement};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(box_width), static_cast<cuuint32_t>(box_rows), 1};
  const cuuint32_t steps[] = {1, 1, 1};
  return encode != nullptr &&
         encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rows.apart > 0 ? 3 : 2, const_cast<void*>(rows.data),
                sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                box_width == kNarrow ? CU_TENSOR_MAP_SWIZZLE_32B : CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace mplus::kernels::cuda
