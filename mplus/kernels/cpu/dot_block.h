// Integer dot products of one block of 32 weights with 32 int8 activations, as partial sums in a few lanes.
// `bias` is added to one of the lanes. A block's head comes as floats: scale, and minimum where there is one.
#pragma once

#include "mplus/kernels/cpu/simd.h"

namespace mplus::kernels::MPLUS_ISA {

MPLUS_INLINE F4 load_pair(const float* p) { return F4{p[0], p[1], 0.0f, 0.0f}; }

#if defined(MPLUS_ISA_AVX512) || defined(MPLUS_ISA_AVX2)

typedef __m256 DotF;
typedef __m256i DotI;

MPLUS_INLINE F4 half_pair(const std::byte* p) { return _mm_cvtph_ps(_mm_loadu_si32(p)); }
MPLUS_INLINE DotI first_lane(std::int32_t bias) { return _mm256_zextsi128_si256(_mm_cvtsi32_si128(bias)); }

MPLUS_INLINE DotI dot_nibbles(std::int32_t bias, const std::byte* w, const std::int8_t* a) {
  const __m256i both = _mm256_broadcastsi128_si256(load_bits<__m128i>(w));
  const __m256i shifted = _mm256_srlv_epi32(both, _mm256_set_epi32(4, 4, 4, 4, 0, 0, 0, 0));
  const __m256i nibbles = _mm256_and_si256(shifted, _mm256_set1_epi8(15));
#if defined(MPLUS_ISA_AVX512)
  return _mm256_dpbusd_epi32(first_lane(bias), nibbles, load_bits<__m256i>(a));
#else
  const __m256i pairs = _mm256_maddubs_epi16(nibbles, load_bits<__m256i>(a));
  return _mm256_add_epi32(first_lane(bias), _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}

MPLUS_INLINE DotI dot_bytes(std::int32_t bias, const std::byte* w, const std::int8_t* a) {
  const __m256i weights = load_bits<__m256i>(w);
#if defined(MPLUS_ISA_AVX512)
  const __m256i flipped = _mm256_xor_si256(weights, _mm256_set1_epi8(-128));
  return _mm256_dpbusd_epi32(first_lane(bias), flipped, load_bits<__m256i>(a));
#else
  const __m256i turned = _mm256_sign_epi8(load_bits<__m256i>(a), weights);
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), turned);
  return _mm256_add_epi32(first_lane(bias), _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}

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
MPLUS_INLINE DotI dot_nibbles(std::int32_t bias, const std::byte* w, const std::int8_t* a) {
  const I both = load_bits<I>(w);
  const I low = dot4_nibbles(I{bias, 0, 0, 0}, both & 0x0f0f0f0f, load_bits<I>(a));
  return dot4_nibbles(low, (both >> 4) & 0x0f0f0f0f, load_bits<I>(a + 16));
}
MPLUS_INLINE DotI dot_bytes(std::int32_t bias, const std::byte* w, const std::int8_t* a) {
  const I low = dot4(I{bias, 0, 0, 0}, load_bits<I>(w), load_bits<I>(a));
  return dot4(low, load_bits<I>(w + 16), load_bits<I>(a + 16));
}
MPLUS_INLINE DotF dot_fma(DotI dot, F4 scale, DotF acc) { return fma(to_float(dot), splat(scale[0]), acc); }
MPLUS_INLINE F4 dot_sum4(const DotF (&v)[4]) { return sum4(v[0], v[1], v[2], v[3]); }

#endif

}  // namespace mplus::kernels::MPLUS_ISA
