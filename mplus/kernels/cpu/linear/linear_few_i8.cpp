// out[T,o] of a few rows with interleaved weights: each block of codes is unpacked into registers once and
// meets a group of rows of x there. A row's sums are those of one row alone, in the same order.
#include "mplus/kernels/cpu/simd/simd.h"
#if defined(MPLUS_FEW_I8) && !defined(MPLUS_WIDE_I8)
#include "mplus/kernels/cpu/linear/outputs.h"
#if defined(MPLUS_MATRIX_I8)
#include "mplus/kernels/cpu/linear/i8_tile_matrix.h"
#else
#include "mplus/kernels/cpu/linear/i8_tile_dot.h"
#endif
#endif

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_FEW_I8) && !defined(MPLUS_WIDE_I8)
namespace {

// Up to 2 * kPairs rows of x, from t on, with outputs row … row + kLanes - 1.
template <DType kType, int kPairs>
void few_rows(const LinearJob& job, std::int64_t t, std::int64_t row, std::int64_t end) {
  const InterleavedRows weights = interleaved_rows(job, row, end);
#if defined(MPLUS_MATRIX_I8)
  const PairedRows x = paired_rows(job, t);
  PairOf<F> sums[kPairs];
  for_lane_blocks<kType, Order::pairs>(weights, job.inputs, [&](std::int64_t b, const LaneCodes& w) {
    add_block<kType>(sums, w, x.block(b));
  });
  F values[2 * kPairs];
  MPLUS_UNROLL for (int m = 0; m < 2 * kPairs; ++m) values[m] = row_of(sums[m / 2], m % 2);
#else
  const QuantisedGroup x = quantised_group(job, t);
  F values[2 * kPairs] = {};
  for_lane_blocks<kType, Order::lanes>(weights, job.inputs, [&](std::int64_t b, LaneCodes& w) {
    prefetch_block<kType>(weights, b);
    offset_codes<kType>(w);
    add_block<2 * kPairs, kType>(values, w.words, w, x.row(b, 0));
  });
#endif
  const std::int64_t rows = min_of<std::int64_t>(2 * kPairs, job.T - t);
  for (std::int64_t m = 0; m < rows; ++m)
    put_outputs(job, job.out + (t + m) * job.out_stride + row, values[m], end - row);
}

template <DType kType>
void run(const LinearJob& job, std::int64_t row, std::int64_t end) {
  static_assert(kTileRowsI8 == 8);
  for (std::int64_t t = 0; t < job.T; t += kTileRowsI8) {
    const std::int64_t rows = job.T - t;
    if (rows > 6) {
      few_rows<kType, 4>(job, t, row, end);
    } else if (rows > 4) {
      few_rows<kType, 3>(job, t, row, end);
    } else if (rows > 2) {
      few_rows<kType, 2>(job, t, row, end);
    } else {
      few_rows<kType, 1>(job, t, row, end);
    }
  }
}

}  // namespace

void few_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  for_code_type(job.dtype, [&]<DType kType>() {
    for (std::int64_t row = row0; row < row1; row += kLanes) run<kType>(job, row, row1);
  });
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
