// out[1,o] with int8 activations: the path of decoding, made to be limited by memory.
#include "mplus/kernels/cpu/simd.h"
#if defined(MPLUS_MATRIX_I8)
#include "mplus/kernels/cpu/i8_vector_matrix.h"
#else
#include "mplus/kernels/cpu/i8_vector_dot.h"
#endif

namespace mplus::kernels::MPLUS_ISA {
namespace {

template <DType kType>
void run(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  vector_rows<kType>(job, row0, row1);
}

}  // namespace

void vector_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  if (job.dtype == DType::i8) run<DType::i8>(job, row0, row1);
  if (job.dtype == DType::q8_0) run<DType::q8_0>(job, row0, row1);
  if (job.dtype == DType::q4_0) run<DType::q4_0>(job, row0, row1);
  if (job.dtype == DType::q4_1) run<DType::q4_1>(job, row0, row1);
  if (job.dtype == DType::q5_0) run<DType::q5_0>(job, row0, row1);
  if (job.dtype == DType::q5_1) run<DType::q5_1>(job, row0, row1);
  if (job.dtype == DType::q4_k) run<DType::q4_k>(job, row0, row1);
  if (job.dtype == DType::q5_k) run<DType::q5_k>(job, row0, row1);
  if (job.dtype == DType::q6_k) run<DType::q6_k>(job, row0, row1);
}

}  // namespace mplus::kernels::MPLUS_ISA
