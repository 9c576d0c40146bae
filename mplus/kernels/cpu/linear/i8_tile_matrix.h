// A tile of the int8 product by matrix instructions: [2 rows, 8 columns] · [8 columns, 2 outputs] into four
// lanes. The integers are those of i8_tile_dot.h and meet their scales in the same order, so every bit is the
// same. Rows of x come in pairs (quantise.cpp): sixteen bytes hold eight columns of one row, then of the
// other.
#pragma once

#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"

namespace mplus::kernels::MPLUS_ISA {

// Loads and products stay in the order they are written in: left to itself, g++ begins all products of a tile
// at once and then lacks registers for them.
MPLUS_INLINE I load_in_order(const void* p) {
  I v;
  asm volatile("ldr %q0, %1" : "=w"(v) : "m"(*static_cast<const I*>(p)));
  return v;
}
MPLUS_INLINE void multiply_add(I& acc, I x, I w) {
  asm volatile("smmla %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(x), "w"(w));
}

// Of two rows; lanes: outputs 0 and 1 (2 and 3) of the first row, then of the second.
template <class V>
struct PairOf {
  V outputs01 = {};
  V outputs23 = {};
};

// What belongs to a panel's outputs, for both rows of a pair.
MPLUS_INLINE PairOf<F> for_both_rows(F v) {
  const auto wide = reinterpret_cast<float64x2_t>(v);
  return {reinterpret_cast<F>(vdupq_laneq_f64(wide, 0)), reinterpret_cast<F>(vdupq_laneq_f64(wide, 1))};
}

inline constexpr std::int64_t kTermStep = std::int64_t{kTileRowsI8} * 32;  // bytes from a term to the next

// Nothing, in an instruction that takes no pipeline's time.
MPLUS_INLINE I zero() {
  I v;
  asm volatile("movi %0.2d, #0" : "=w"(v));
  return v;
}

// Columns 8 kFirst … 8 kLast - 1 of one block with all pairs of rows, both terms. x: the first pair's bytes.
template <int kFirst, int kLast, int kPairs>
MPLUS_INLINE void dot_pairs(PairOf<I> (&dots)[kPairs], const I (&words)[8], const std::int8_t* x) {
  MPLUS_UNROLL for (int p = 0; p < kPairs; ++p) dots[p] = {zero(), zero()};
  MPLUS_UNROLL for (int term = 0; term < kTerms; ++term) {
    MPLUS_UNROLL for (int p = 0; p < kPairs && term > 0; ++p) {
      dots[p] = {dots[p].outputs01 << kTermBits, dots[p].outputs23 << kTermBits};
    }
    MPLUS_UNROLL for (int k = kFirst; k < kLast; ++k) {
      MPLUS_UNROLL for (int p = 0; p < kPairs; ++p) {
        const I columns = load_in_order(x + term * kTermStep + 64 * p + 16 * k);
        multiply_add(dots[p].outputs01, columns, words[2 * k]);
        multiply_add(dots[p].outputs23, columns, words[2 * k + 1]);
      }
    }
  }
}

// The same of all four columns of eight rows, what decoding with eight sessions waits for, in one piece: left
// to place it, the compiler copies sums from register to register.
#define MPLUS_PAIR(p, at, t, even, odd)            \
  "ldr %q[x" #t "], [%[x], #" at                   \
  "]\n"                                            \
  "smmla %[a" #p "].4s, %[x" #t "].16b, %[w" #even \
  "].16b\n"                                        \
  "smmla %[b" #p "].4s, %[x" #t "].16b, %[w" #odd "].16b\n"
#define MPLUS_COLUMN(at, even, odd)     \
  MPLUS_PAIR(0, at, 0, even, odd)       \
  MPLUS_PAIR(1, at "+64", 1, even, odd) \
  MPLUS_PAIR(2, at "+128", 2, even, odd) MPLUS_PAIR(3, at "+192", 0, even, odd)
#define MPLUS_TERM(at)   \
  MPLUS_COLUMN(at, 0, 1) \
  MPLUS_COLUMN(at "+16", 2, 3) MPLUS_COLUMN(at "+32", 4, 5) MPLUS_COLUMN(at "+48", 6, 7)
#define MPLUS_EACH(before, after)                                                                            \
  before "[a0]" after before "[b0]" after before "[a1]" after before "[b1]" after before "[a2]" after before \
         "[b2]" after before "[a3]" after before "[b3]" after
#define MPLUS_SHIFT(v) "shl %[" #v "].4s, %[" #v "].4s, #7\n"
template <>
MPLUS_INLINE void dot_pairs<0, 4, 4>(PairOf<I> (&dots)[4], const I (&words)[8], const std::int8_t* x) {
  static_assert(kTermBits == 7 && kTermStep == 256, "the numbers below");
  I x0, x1, x2;
  asm volatile(MPLUS_EACH("movi %", ".2d, #0\n") MPLUS_TERM("0") MPLUS_SHIFT(a0) MPLUS_SHIFT(b0)
                   MPLUS_SHIFT(a1) MPLUS_SHIFT(b1) MPLUS_SHIFT(a2) MPLUS_SHIFT(b2) MPLUS_SHIFT(a3)
                       MPLUS_SHIFT(b3) MPLUS_TERM("256")
               : [a0] "=&w"(dots[0].outputs01), [b0] "=&w"(dots[0].outputs23), [a1] "=&w"(dots[1].outputs01),
                 [b1] "=&w"(dots[1].outputs23), [a2] "=&w"(dots[2].outputs01), [b2] "=&w"(dots[2].outputs23),
                 [a3] "=&w"(dots[3].outputs01), [b3] "=&w"(dots[3].outputs23), [x0] "=&w"(x0), [x1] "=&w"(x1),
                 [x2] "=&w"(x2)
               : [x] "r"(x), [w0] "w"(words[0]), [w1] "w"(words[1]), [w2] "w"(words[2]), [w3] "w"(words[3]),
                 [w4] "w"(words[4]), [w5] "w"(words[5]), [w6] "w"(words[6]), [w7] "w"(words[7]),
                 "m"(*reinterpret_cast<const std::int8_t(*)[2 * kTermStep]>(x)));
}
#undef MPLUS_PAIR
#undef MPLUS_COLUMN
#undef MPLUS_TERM
#undef MPLUS_EACH
#undef MPLUS_SHIFT

MPLUS_INLINE void add_scaled(PairOf<F>& acc, const PairOf<I>& dots, const PairOf<F>& scale, F row_scales) {
  acc.outputs01 = fma(to_float(dots.outputs01), scale.outputs01 * row_scales, acc.outputs01);
  acc.outputs23 = fma(to_float(dots.outputs23), scale.outputs23 * row_scales, acc.outputs23);
}

// Rows of x from one on, at a block; of a pair scales twice, then shares of the minimum twice.
struct PairedRows {
  const std::int8_t* q;
  const float* scales;
  const std::int32_t* totals;

  MPLUS_INLINE PairedRows block(std::int64_t b) const {
    return {q + b * kTerms * kTermStep, scales + b * kTileRowsI8 * 4, totals + b * kTileRowsI8};
  }
};

// From row t on, which is even; where the last pair has one row only, what stands in the place of the other
// is computed and not used.
MPLUS_INLINE PairedRows paired_rows(const LinearJob& job, std::int64_t t) {
  const QuantisedRows& x = job.quantised;
  const std::int64_t before = t / x.group * (job.inputs / 32) * x.group, within = t % x.group;
  return {x.q + (before * kTerms + within) * 32, x.scales + (before + within) * 4, x.sums + before + within};
}

// One block of all pairs; x: the rows there.
template <DType kType, int kPairs>
MPLUS_INLINE void add_block(PairOf<F> (&sums)[kPairs], const LaneCodes& w, const PairedRows& x) {
  constexpr int kFirstHalf = has_half_scales(kType) ? 2 : 4;
  PairOf<I> dots[kPairs];
  dot_pairs<0, kFirstHalf>(dots, w.words, x.q);
  const PairOf<F> scale = for_both_rows(w.scale), second = for_both_rows(w.second);
  MPLUS_UNROLL for (int p = 0; p < kPairs; ++p) {
    if constexpr (code_offset(kType) != 0) {
      const I rows{x.totals[2 * p], x.totals[2 * p], x.totals[2 * p + 1], x.totals[2 * p + 1]};
      const I excess = rows * code_offset(kType);
      dots[p] = {dots[p].outputs01 - excess, dots[p].outputs23 - excess};
    }
    add_scaled(sums[p], dots[p], scale, load(x.scales + 8 * p));
    if constexpr (has_minimum(kType)) {
      const F row_minima = load(x.scales + 8 * p + 4);
      sums[p].outputs01 = fma(second.outputs01, row_minima, sums[p].outputs01);
      sums[p].outputs23 = fma(second.outputs23, row_minima, sums[p].outputs23);
    }
  }
  if constexpr (has_half_scales(kType)) {
    dot_pairs<2, 4>(dots, w.words, x.q);
    MPLUS_UNROLL for (int p = 0; p < kPairs; ++p) {
      add_scaled(sums[p], dots[p], second, load(x.scales + 8 * p));
    }
  }
}

// Of a pair's two rows the one with number m.
MPLUS_INLINE F row_of(const PairOf<F>& sums, int m) {
  const auto a = reinterpret_cast<float64x2_t>(sums.outputs01);
  const auto b = reinterpret_cast<float64x2_t>(sums.outputs23);
  return reinterpret_cast<F>(m == 0 ? vzip1q_f64(a, b) : vzip2q_f64(a, b));
}

// M rows from t on against one panel: acc[m] are the sums of row t + m, before the job's scale.
template <int M, DType kType>
MPLUS_INLINE void sum_rows(F (&acc)[M], const LinearJob& job, const LaneCodes* w, std::int64_t t) {
  const PairedRows x = paired_rows(job, t);
  PairOf<F> sums[(M + 1) / 2];
  for (std::int64_t b = 0; b < job.inputs / 32; ++b) {
    LaneCodes codes = w[b];
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) codes.words[k] = load_in_order(&w[b].words[k]);
    add_block<kType>(sums, codes, x.block(b));
  }
  MPLUS_UNROLL for (int m = 0; m < M; ++m) acc[m] = row_of(sums[m / 2], m % 2);
}

}  // namespace mplus::kernels::MPLUS_ISA
