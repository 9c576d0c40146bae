// out[1,o] with int8 activations, lanes along the inputs: the path of decoding, made to be limited by memory.
#include "mplus/kernels/isa/dot_block.h"
#include "mplus/kernels/isa/kernels.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kRows = 4;  // independent chains, and rows that share the loads of x

template <DType kType, int R>
MPLUS_INLINE void rows_at(const LinearJob& job, std::int64_t row) {
  constexpr std::int64_t kBytes = kType == DType::q8_0 ? 34 : kType == DType::q4_0 ? 18 : 20;
  const QuantisedRows& x = job.quantised;
  const std::byte* w = job.w + row * job.row_bytes;
  DotF acc[R] = {};
  float minima[R] = {};
  for (std::int64_t b = 0; b < job.inputs / 32; ++b, w += kBytes) {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const std::byte* p = w + r * job.row_bytes;
      const HalfPair head = half_pair(p);
      const std::int8_t* q = x.q + b * 32;
      DotI dot;
      if constexpr (kType == DType::q8_0) dot = dot_bytes(x.bias[b], p + 2, q);
      if constexpr (kType == DType::q4_0) dot = dot_nibbles(x.bias[b], p + 2, q);
      if constexpr (kType == DType::q4_1) dot = dot_nibbles(0, p + 4, q);
      acc[r] = dot_fma(dot, head.first * x.scale[b], acc[r]);
      if constexpr (kType == DType::q4_1) minima[r] += head.second * x.scaled_sum[b];
    }
  }
  for (int r = 0; r < R; ++r) {
    const float value = job.scale * (dot_sum(acc[r]) + minima[r]);
    job.out[row + r] = job.accumulate ? job.out[row + r] + value : value;
  }
}

template <DType kType>
void run(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  std::int64_t row = row0;
  for (; row + kRows <= row1; row += kRows) rows_at<kType, kRows>(job, row);
  for (; row < row1; ++row) rows_at<kType, 1>(job, row);
}

}  // namespace

void vector_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  if (job.dtype == DType::q8_0) run<DType::q8_0>(job, row0, row1);
  if (job.dtype == DType::q4_0) run<DType::q4_0>(job, row0, row1);
  if (job.dtype == DType::q4_1) run<DType::q4_1>(job, row0, row1);
}

}  // namespace mplus::kernels::MPLUS_ISA
