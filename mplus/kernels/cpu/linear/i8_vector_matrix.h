// Rows of a matrix-vector product with int8 activations by matrix instructions: the two terms of x are the
// two rows of one factor, so an instruction takes eight columns of both with two outputs. Every sum is that
// of a batch's tile (i8_tile_matrix.h), in the same order: a row has the same bits alone and in a batch.
#pragma once

#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/outputs.h"

namespace mplus::kernels::MPLUS_ISA {

// Columns 8 kFirst … 8 kLast - 1 of a block with four outputs, both terms: x holds eight bytes of one, then
// of the other.
template <int kFirst, int kLast>
MPLUS_INLINE I dot_outputs(const I (&words)[8], const std::int8_t* x) {
  int32x4_t low{}, high{};
  MPLUS_UNROLL for (int k = kFirst; k < kLast; ++k) {
    const auto columns = load_bits<int8x16_t>(x + 16 * k);
    low = vmmlaq_s32(low, columns, bytes(words[2 * k]));
    high = vmmlaq_s32(high, columns, bytes(words[2 * k + 1]));
  }
  const auto a = reinterpret_cast<int64x2_t>(low), b = reinterpret_cast<int64x2_t>(high);
  const auto first = reinterpret_cast<I>(vzip1q_s64(a, b)), second = reinterpret_cast<I>(vzip2q_s64(a, b));
  return (first << kTermBits) + second;
}

// acc += block b of x with four outputs.
template <DType kType>
MPLUS_INLINE void add_block(F& acc, const QuantisedRows& x, std::int64_t b, const LaneCodes& w) {
  const std::int8_t* q = x.q + b * kTerms * 32;
  const float scale = x.scales[2 * b];
  if constexpr (has_half_scales(kType)) {
    acc = fma(to_float(dot_outputs<0, 2>(w.words, q)), w.scale * scale, acc);
    acc = fma(to_float(dot_outputs<2, 4>(w.words, q)), w.second * scale, acc);
    return;
  }
  I dots = dot_outputs<0, 4>(w.words, q);
  if constexpr (code_offset(kType) != 0) dots = dots - splat(x.sums[b]) * code_offset(kType);
  acc = fma(to_float(dots), w.scale * scale, acc);
  if constexpr (has_minimum(kType)) acc = fma(w.second, splat(x.scales[2 * b + 1]), acc);
}

// Weights in the order of a file.
template <DType kType>
MPLUS_INLINE void vector_rows(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  constexpr std::int64_t kBytes = stored_bytes(kType) * kQuantBlock / stored_elements(kType);
  constexpr std::int64_t kEvery = kBytes > 40 ? 1 : kBytes > 24 ? 2 : 3;  // blocks in a cache line, about
  for (std::int64_t row = row0; row < row1; row += kLanes) {
    const LaneRows rows = lane_rows(job, row, row1);
    F acc{};
    for_lane_blocks<kType, Order::pairs>(rows, job.inputs, [&](std::int64_t b, const LaneCodes& w) {
      if (b % kEvery == 0) MPLUS_UNROLL for (int r = 0; r < kLanes; ++r) {
          prefetch(rows.base + rows.offsets[r] + b * kBytes);
        }
      add_block<kType>(acc, job.quantised, b, w);
    });
    put_outputs(job, job.out + row, acc, row1 - row);
  }
}

// Interleaved weights: one stream, which the processor follows best alone; two groups of outputs at once are
// slower, and so is asking for what comes next.
template <DType kType>
MPLUS_INLINE void interleaved_vector_rows(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  const QuantisedRows x = job.quantised;
  for (std::int64_t row = row0; row < row1; row += kLanes) {
    F acc{};
    for_lane_blocks<kType, Order::pairs>(
        interleaved_rows(job, row, row1), job.inputs,
        [&](std::int64_t b, const LaneCodes& w) { add_block<kType>(acc, x, b, w); });
    put_outputs(job, job.out + row, acc, row1 - row);
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
