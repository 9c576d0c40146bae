// Integer dot products of one block of 32 weights with 32 int8 activations, as partial sums in a few lanes.
// `bias` is added to one of the lanes.
#pragma once

#include "mplus/kernels/isa/simd.h"

namespace mplus::kernels::MPLUS_ISA {

struct HalfPair {
  float first;
  float second;
};

#if defined(MPLUS_ISA_AVX512) || defined(MPLUS_ISA_AVX2)

typedef __m256 DotF;
typedef __m256i DotI;

MPLUS_INLINE HalfPair half_pair(const std::byte* p) {
  const __m128 both = _mm_cvtph_ps(_mm_loadu_si32(p));
  return {_mm_cvtss_f32(both), _mm_cvtss_f32(_mm_movehdup_ps(both))};
}
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

MPLUS_INLINE DotF dot_fma(DotI dot, float scale, DotF acc) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot), _mm256_set1_ps(scale), acc);
}
MPLUS_INLINE float dot_sum(DotF v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

#else  // 128-bit vectors

typedef F DotF;
typedef I DotI;

MPLUS_INLINE HalfPair half_pair(const std::byte* p) {
  std::int32_t word;
  __builtin_memcpy(&word, p, 4);
  const F both = half_to_float(
      I{word & 0xffff, static_cast<std::int32_t>(static_cast<std::uint32_t>(word) >> 16), 0, 0});
  return {both[0], both[1]};
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
MPLUS_INLINE DotF dot_fma(DotI dot, float scale, DotF acc) { return fma(to_float(dot), splat(scale), acc); }
MPLUS_INLINE float dot_sum(DotF v) { return sum(v); }

#endif

}  // namespace mplus::kernels::MPLUS_ISA
