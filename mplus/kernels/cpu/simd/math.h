// Transcendental functions on vectors, within 2 ulp.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {

// e^r for |r| ≤ ln(2)/2
MPLUS_INLINE F exp_part(F r) {
  F p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  return fma(p * r, r, r) + 1.0f;
}

// e^x = 2^n e^r with |r| ≤ ln(2)/2; ln 2 in two parts, the first short enough that n times it is exact. 2^n
// is applied in two steps so that the ends of the range come out right: +0 below -104, infinity above 88.8.
MPLUS_INLINE F exp(F x) {
  x = x < -104.0f ? splat(-104.0f) : x;
  x = x > 89.0f ? splat(89.0f) : x;
  const I n = round_to_int(x * 1.44269504f);
  const F nf = to_float(n);
  const F p = exp_part(fma(nf, splat(2.12194440e-4f), fma(nf, splat(-0.693359375f), x)));
  const I half = n >> 1;
  return p * as_float((half + 127) << 23) * as_float((n - half + 127) << 23);
}

// The bits of exp for kNearest ≤ x ≤ 0, in fewer instructions: adding 1.5 · 2^23 rounds to a whole number,
// which the sum's last bits hold, and 2^n is a sum of exponents.
inline constexpr float kNearest = -86.0f;
MPLUS_INLINE F exp_near(F x) {
  const F shifted = x * 1.44269504f + 0x1.8p23f;
  const F nf = shifted - 0x1.8p23f;
  const F p = exp_part(fma(nf, splat(2.12194440e-4f), fma(nf, splat(-0.693359375f), x)));
  return as_float(as_int(p) + (as_int(shifted) << 23));
}

MPLUS_INLINE F sigmoid(F x) { return 1.0f / (1.0f + exp(-x)); }
MPLUS_INLINE F silu_of(F x) { return x / (1.0f + exp(-x)); }

}  // namespace mplus::kernels::MPLUS_ISA
