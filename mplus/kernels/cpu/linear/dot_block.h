// Integer dot products of one block of weights, as partial sums in a few lanes, and what becomes of them.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"
#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::MPLUS_ISA {

MPLUS_INLINE F4 load_pair(const float* p) { return F4{p[0], p[1], 0.0f, 0.0f}; }

#if defined(MPLUS_ISA_AVX512) || defined(MPLUS_ISA_AVX2)

typedef __m256 DotF;
typedef __m256i DotI;

MPLUS_INLINE F4 half_pair(const std::byte* p) { return _mm_cvtph_ps(_mm_loadu_si32(p)); }
MPLUS_INLINE DotI dot_shift(DotI v) { return _mm256_slli_epi32(v, kTermBits); }
MPLUS_INLINE DotF dot_fma(DotI dot, F4 scale, DotF acc) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_broadcastss_ps(scale), acc);
}
MPLUS_INLINE F4 dot_sum4(const DotF (&v)[4]) {
  const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

#else  // 128-bit vectors

typedef F DotF;
typedef I DotI;

MPLUS_INLINE F4 half_pair(const std::byte* p) {
#if defined(MPLUS_ISA_NEON)
  std::uint32_t word;
  __builtin_memcpy(&word, p, 4);
  return floats(vcvt_f32_f16(vreinterpret_f16_u64(vcreate_u64(word))));
#else
  std::uint16_t h[2];
  __builtin_memcpy(h, p, 4);
  return half_bits_to_float(I{h[0], h[1], 0, 0});
#endif
}
MPLUS_INLINE DotI dot_shift(DotI v) { return v << kTermBits; }
MPLUS_INLINE DotF dot_fma(DotI dot, F4 scale, DotF acc) { return fma(to_float(dot), splat(scale[0]), acc); }
MPLUS_INLINE F4 dot_sum4(const DotF (&v)[4]) { return sum4(v[0], v[1], v[2], v[3]); }

#endif

}  // namespace mplus::kernels::MPLUS_ISA
