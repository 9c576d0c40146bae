// Sigmoids of integer sums in few instructions, for fast numerics: the same bits however the sums were made.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"

#if defined(MPLUS_SHORT_SIGMOID)
namespace mplus::kernels::MPLUS_ISA {

// Sums begin at the bits of 1.5 · 2^23, so that as floats they are that number and the sum: no conversion.
// They stay below 2^22 for d_r up to kMostFastColumns (table.h).
inline constexpr std::int32_t kBegin = 0x4b400000;
inline constexpr float kBeginFloat = 0x1.8p23f;

// total + 1 / (1 + 2^y). 2^y = 2^n p(f), n whole and |f| ≤ 1/2, p of degree four; the reciprocal by its
// estimate and steps, or by a division. Where nearly all sigmoids of a layer are near 0 or near 1 votes rest
// on what is left: it is within 4e-6 of its value in the first case, and within an ulp of 1 in the other.
MPLUS_INLINE F sum_with_sigmoid(F total, F y) {
  constexpr float kMost = 100.0f;  // 2^100 is as good as infinity
  y = min(max(y, splat(-kMost)), splat(kMost));
  const F shifted = y + kBeginFloat;
  const F f = y - (shifted - kBeginFloat);
  F p = fma(f, splat(9.570101908e-03f), splat(5.591786032e-02f));
  p = fma(p, f, splat(2.402474483e-01f));
  p = fma(p, f, splat(6.931218147e-01f));
  p = fma(p, f, splat(9.999992614e-01f));
  return add_reciprocal(total, as_float(as_int(p) + (as_int(shifted) << 23)) + 1.0f);
}

}  // namespace mplus::kernels::MPLUS_ISA
#endif
