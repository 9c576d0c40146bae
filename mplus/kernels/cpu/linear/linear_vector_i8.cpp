// out[1,o] with int8 activations: the path of decoding, made to be limited by memory.
#include "mplus/kernels/cpu/simd/simd.h"
#if defined(MPLUS_MATRIX_I8)
#include "mplus/kernels/cpu/linear/i8_vector_matrix.h"
#else
#include "mplus/kernels/cpu/linear/i8_vector_dot.h"
#endif

namespace mplus::kernels::MPLUS_ISA {

void vector_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
#if defined(MPLUS_INTERLEAVED)
  if (job.interleaved)
    return for_code_type(job.dtype, [&]<DType kType>() { interleaved_vector_rows<kType>(job, row0, row1); });
#endif
  for_code_type(job.dtype, [&]<DType kType>() { vector_rows<kType>(job, row0, row1); });
}

}  // namespace mplus::kernels::MPLUS_ISA
