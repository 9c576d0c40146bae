// f16 in integer arithmetic, for sets without conversion instructions; bit-exact, NaNs stay NaNs. Included by
// simd.h only.
#pragma once

namespace mplus::kernels::MPLUS_ISA {

// Low 16 bits of each lane. Shifting the fields into place and scaling by 2^112 is exact, subnormals
// included; infinities and NaNs get their exponent afterwards.
MPLUS_INLINE F half_bits_to_float(I h) {
  const I rest = (h & 0x7fff) << 13;
  const I scaled = as_int(as_float(rest) * 0x1p112f);
  const I special = rest >= (0x7c00 << 13);
  return as_float(scaled | (special & 0x7f800000) | ((h & 0x8000) << 16));
}

// Nearest even, as f32_to_f16 of core/numbers/float16.h.
MPLUS_INLINE I float_to_half_bits(F v) {
  const I bits = as_int(v);
  const I sign = shift_right_logical(bits, 16) & 0x8000;
  const I rest = bits & 0x7fffffff;
  const I small = as_int(as_float(rest) + 0.5f) - 0x3f000000;
  const I normal = shift_right_logical(rest + 0xfff + (shift_right_logical(rest, 13) & 1) - 0x38000000, 13);
  I half = rest < 0x38800000 ? small : normal;
  half = rest >= 0x477ff000 ? splat(std::int32_t{0x7c00}) : half;
  half = rest > 0x7f800000 ? splat(std::int32_t{0x7e00}) : half;
  return half | sign;
}

}  // namespace mplus::kernels::MPLUS_ISA
