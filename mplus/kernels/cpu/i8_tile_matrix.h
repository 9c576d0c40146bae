// A tile of the int8 product by matrix instructions: [2 rows, 8 columns] · [8 columns, 2 outputs] into four
// lanes. The integers are those of i8_tile_dot.h and meet their scales in the same order, so every bit is the
// same. Rows of x come in pairs (quantise.cpp): sixteen bytes hold eight columns of one row, then of the
// other.
#pragma once

#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/lane_codes.h"

namespace mplus::kernels::MPLUS_ISA {

// Of every two words, the first comes to hold eight columns of outputs 0 and 1, the second of outputs 2
// and 3.
MPLUS_INLINE void arrange(LaneCodes& block) {
  MPLUS_UNROLL for (int k = 0; k < 8; k += 2) {
    const int32x4_t low = raw(block.words[k]), high = raw(block.words[k + 1]);
    block.words[k] = ints(vzip1q_s32(low, high));
    block.words[k + 1] = ints(vzip2q_s32(low, high));
  }
}

// Lanes: outputs a and b of the pair's first row, then of its second.
struct PairDots {
  I outputs01;
  I outputs23;
};

// Columns 8 kFirst … 8 kLast - 1 of one block and term; x: the pair's 64 bytes.
template <int kFirst, int kLast>
MPLUS_INLINE PairDots dot_pair(I start, const I (&words)[8], const std::int8_t* x) {
  int32x4_t low = raw(start), high = raw(start);
  MPLUS_UNROLL for (int k = kFirst; k < kLast; ++k) {
    const auto columns = load_bits<int8x16_t>(x + 16 * k);
    low = vmmlaq_s32(low, columns, bytes(words[2 * k]));
    high = vmmlaq_s32(high, columns, bytes(words[2 * k + 1]));
  }
  return {ints(low), ints(high)};
}

// What belongs to outputs 0 and 1, and to 2 and 3, for both rows of a pair.
struct OutputPairs {
  F outputs01;
  F outputs23;
};
MPLUS_INLINE OutputPairs output_pairs(F v) {
  const auto wide = reinterpret_cast<float64x2_t>(v);
  return {reinterpret_cast<F>(vdupq_laneq_f64(wide, 0)), reinterpret_cast<F>(vdupq_laneq_f64(wide, 1))};
}

MPLUS_INLINE void add_scaled(OutputPairs& acc, const PairDots& dots, const OutputPairs& scale, F row_scales) {
  acc.outputs01 = fma(to_float(dots.outputs01), scale.outputs01 * row_scales, acc.outputs01);
  acc.outputs23 = fma(to_float(dots.outputs23), scale.outputs23 * row_scales, acc.outputs23);
}

// One block and term of a pair of rows.
template <DType kType>
MPLUS_INLINE void add_pair(OutputPairs& acc, const I (&words)[8], const OutputPairs& scale,
                           const OutputPairs& second, const std::int8_t* x, const float* scales,
                           const std::int32_t* bias) {
  const float32x4_t both =
      raw(load(scales));  // scale and its share of the minimum: of one row, then of the other
  const F row_scales = floats(vtrn1q_f32(both, both));
  if constexpr (has_half_scales(kType)) {
    add_scaled(acc, dot_pair<0, 2>(I{}, words, x), scale, row_scales);
    add_scaled(acc, dot_pair<2, 4>(I{}, words, x), second, row_scales);
    return;
  }
  const I start = kType == DType::q4_0 ? I{bias[0], bias[0], bias[1], bias[1]} : I{};
  add_scaled(acc, dot_pair<0, 4>(start, words, x), scale, row_scales);
  if constexpr (has_minimum(kType)) {
    const F row_minima = floats(vtrn2q_f32(both, both));
    acc.outputs01 = fma(second.outputs01, row_minima, acc.outputs01);
    acc.outputs23 = fma(second.outputs23, row_minima, acc.outputs23);
  }
}

// M rows from t on against one panel: acc[m] are the sums of row t + m, before the job's scale. t is even;
// where the last pair has one row only, what stands in the place of the other is computed and not used.
template <int M, DType kType>
MPLUS_INLINE void sum_rows(F (&acc)[M], const LinearJob& job, const LaneCodes* w, std::int64_t t) {
  constexpr int kPairs = (M + 1) / 2;
  const QuantisedRows& x = job.quantised;
  const std::int64_t blocks = job.inputs / 32;
  const std::int64_t first = t / x.group * blocks * kTerms * x.group + t % x.group;
  const std::int8_t* q = x.q + first * 32;
  const float* scales = x.scales + first * 2;
  const std::int32_t* bias = x.bias + first;
  OutputPairs sums[kPairs] = {};
  for (std::int64_t b = 0; b < blocks; ++b) {
    I words[8];
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) words[k] = w[b].words[k];
    const OutputPairs scale = output_pairs(w[b].scale), second = output_pairs(w[b].second);
    for (std::int64_t term = 0; term < kTerms; ++term) {
      MPLUS_UNROLL for (int p = 0; p < kPairs; ++p) {
        add_pair<kType>(sums[p], words, scale, second, q + 64 * p, scales + 4 * p, bias + 2 * p);
      }
      q += kTileRowsI8 * 32;
      scales += kTileRowsI8 * 2;
      bias += kTileRowsI8;
    }
  }
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    const auto a = reinterpret_cast<float64x2_t>(sums[m / 2].outputs01);
    const auto b = reinterpret_cast<float64x2_t>(sums[m / 2].outputs23);
    acc[m] = reinterpret_cast<F>(m % 2 == 0 ? vzip1q_f64(a, b) : vzip2q_f64(a, b));
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
