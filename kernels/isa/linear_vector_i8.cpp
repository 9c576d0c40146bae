// out[1,o] with int8 activations, lanes along the inputs: the path of decoding, made to be limited by memory.
#include "mplus/kernels/isa/dot_block.h"
#include "mplus/kernels/isa/kernels.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kRows = 4;  // independent chains, and rows that share the loads of x

// R ≤ 4 rows; a group's missing rows sum to nothing.
template <DType kType, int R>
MPLUS_INLINE F4 dot_rows(const LinearJob& job, std::int64_t row) {
  constexpr std::int64_t kBytes = kType == DType::q8_0 ? 34 : kType == DType::q4_0 ? 18 : 20;
  const QuantisedRows& x = job.quantised;
  const std::byte* w = job.w + row * job.row_bytes;
  const std::int64_t blocks = job.inputs / 32;
  DotF acc[kRows] = {};
  F4 minima[kRows] = {};
  for (std::int64_t b = 0; b < blocks; ++b, w += kBytes) {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const std::byte* p = w + r * job.row_bytes;
      prefetch(p);
      const F4 head = half_pair(p);
      MPLUS_UNROLL for (std::int64_t m = 0; m < kTerms; ++m) {
        const std::int64_t term = b * kTerms + m;
        const std::int8_t* q = x.q + term * 32;
        DotI dot;
        if constexpr (kType == DType::q8_0) dot = dot_bytes(x.bias[term], p + 2, q);
        if constexpr (kType == DType::q4_0) dot = dot_nibbles(x.bias[term], p + 2, q);
        if constexpr (kType == DType::q4_1) dot = dot_nibbles(0, p + 4, q);
        const F4 scaled = head * load_pair(x.scales + 2 * term);  // of the integers, and the minimum's share
        acc[r] = dot_fma(dot, scaled, acc[r]);
        if constexpr (kType == DType::q4_1) minima[r] = minima[r] + scaled;
      }
    }
  }
  const F4 total = dot_sum4(acc);
  if constexpr (kType != DType::q4_1) return total;
  return total + F4{minima[0][1], minima[1][1], minima[2][1], minima[3][1]};
}

template <DType kType, int R>
MPLUS_INLINE void rows_at(const LinearJob& job, std::int64_t row) {
  const F4 value = dot_rows<kType, R>(job, row) * job.scale;
  for (int r = 0; r < R; ++r) job.out[row + r] = job.accumulate ? job.out[row + r] + value[r] : value[r];
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
