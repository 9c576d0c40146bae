// AVX2, FMA, F16C. Included by simd.h only.
#pragma once

#include <immintrin.h>

#define MPLUS_SHORT_SIGMOID  // add_reciprocal, for short_sigmoid.h
#define MPLUS_CODE_PAIRS     // small keys are scored in integers of 16 bits: dot4 takes four instructions
#define MPLUS_HALF_CACHES    // fast attention has keys and values of f16
#define MPLUS_ROUNDED        // prompts and writes in integers of 16 bits: linear_batched_i16.cpp
#define MPLUS_INTERLEAVED    // fast products read codes of kLanes rows as one stream (interleave.cpp)
#define MPLUS_FEW_I8         // a few rows of x have a way of their own with these,
#define MPLUS_WIDE_I8        // both widened to 16 bits: linear_wide_i8.cpp

namespace mplus::kernels::MPLUS_ISA {

inline constexpr std::int32_t kByteOffset = 0;
inline constexpr int kTileRows = 4;
inline constexpr int kTileRowsRounded = 6;
inline constexpr int kPanelRounded = 2 * kLanes;
inline constexpr int kMostPanels = 1;
inline constexpr int kTileRowsI8 = 4;
inline constexpr int kPanelI8 = 2 * kLanes;

MPLUS_INLINE __m256i raw(I v) { return reinterpret_cast<__m256i>(v); }
MPLUS_INLINE I ints(__m256i v) { return reinterpret_cast<I>(v); }

MPLUS_INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
MPLUS_INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
MPLUS_INLINE F min(F a, F b) { return _mm256_min_ps(a, b); }
// total + 1 / v. The divider works beside the other units: an estimate with two steps takes longer.
MPLUS_INLINE F add_reciprocal(F total, F v) { return total + 1.0f / v; }
MPLUS_INLINE float sum(F v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
MPLUS_INLINE F4 sum4(F a, F b, F c, F d) {  // the sum of each
  const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}
MPLUS_INLINE std::int32_t sum(I v) {
  std::uint32_t total = 0;  // lanes of what is no finite number may be anything
  for (int lane = 0; lane < 8; ++lane) total += static_cast<std::uint32_t>(v[lane]);
  return static_cast<std::int32_t>(total);
}
MPLUS_INLINE float max_lane(F v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}
MPLUS_INLINE I round_to_int(F v) { return ints(_mm256_cvtps_epi32(v)); }
MPLUS_INLINE I gather(const std::byte* base, I offsets) {
  return ints(_mm256_i32gather_epi32(reinterpret_cast<const int*>(base), raw(offsets), 1));
}

MPLUS_INLINE I widen_u8(const void* p) { return ints(_mm256_cvtepu8_epi32(_mm_loadu_si64(p))); }
MPLUS_INLINE I widen_i8(const void* p) { return ints(_mm256_cvtepi8_epi32(_mm_loadu_si64(p))); }
MPLUS_INLINE I widen_codes(const void* p) {  // int8 to 16 bits
  return ints(_mm256_cvtepi8_epi16(load_bits<__m128i>(p)));
}
MPLUS_INLINE I widen_u16(const void* p) { return ints(_mm256_cvtepu16_epi32(load_bits<__m128i>(p))); }
MPLUS_INLINE __m128i low_words(I v) {  // the lanes' values must fit 16 unsigned bits
  const __m256i packed = _mm256_packus_epi32(raw(v), raw(v));
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
}
MPLUS_INLINE void narrow_i8(std::int8_t* p, I v) {
  const __m128i words = low_words(v & 0xff);
  _mm_storeu_si64(p, _mm_packus_epi16(words, words));
}
MPLUS_INLINE void narrow_i8(std::int8_t* p, I a, I b) {
  narrow_i8(p, a);
  narrow_i8(p + kLanes, b);
}
MPLUS_INLINE void narrow_u16(void* p, I v) { store_bits(p, low_words(v)); }
MPLUS_INLINE float half_scalar(std::uint16_t h) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h))); }
MPLUS_INLINE F half_to_float(I h) { return _mm256_cvtph_ps(low_words(h)); }
MPLUS_INLINE F load_halves(const void* p) { return _mm256_cvtph_ps(load_bits<__m128i>(p)); }
MPLUS_INLINE I float_to_half(F v) {
  return ints(_mm256_cvtepu16_epi32(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
}

// Four int8 products into each 32-bit lane. maddubs saturates at 16 bits: |w| ≤ 128 times |a| ≤ 127 twice
// stays below.
MPLUS_INLINE I dot4_nibbles(I acc, I w, I a) {
  const __m256i pairs = _mm256_maddubs_epi16(raw(w), raw(a));
  return acc + ints(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
MPLUS_INLINE I dot4(I acc, I w, I a) {
  const __m256i magnitude = _mm256_abs_epi8(raw(w));
  return dot4_nibbles(acc, ints(magnitude), ints(_mm256_sign_epi8(raw(a), raw(w))));
}
// Two products of 16 bits each into each 32-bit lane.
MPLUS_INLINE I dot2(I acc, I w, I a) { return acc + ints(_mm256_madd_epi16(raw(w), raw(a))); }
MPLUS_INLINE I dot4_signed(I acc, I w, I a) { return dot4(acc, w, a); }

// Bytes without a sign times bytes with one, neighbours added to 16 bits, and sums of such.
MPLUS_INLINE I pair_products(I w, I a) { return ints(_mm256_maddubs_epi16(raw(w), raw(a))); }
MPLUS_INLINE I byte_sizes(I v) { return ints(_mm256_abs_epi8(raw(v))); }
MPLUS_INLINE I with_signs(I a, I w) { return ints(_mm256_sign_epi8(raw(a), raw(w))); }
MPLUS_INLINE I add_words(I a, I b) { return ints(_mm256_add_epi16(raw(a), raw(b))); }
MPLUS_INLINE I sum_pairs(I words, std::int32_t by) {
  return ints(_mm256_madd_epi16(raw(words), _mm256_set1_epi16(static_cast<std::int16_t>(by))));
}
MPLUS_INLINE I subtract_words(I a, std::int32_t b) {  // from every 16 bits
  return ints(_mm256_sub_epi16(raw(a), _mm256_set1_epi16(static_cast<std::int16_t>(b))));
}
// Bytes 0 and 1 of every word as two integers of 16 bits, or bytes 2 and 3.
MPLUS_INLINE I widen_bytes(I words, int half) {
  const __m128i two = _mm_set_epi8(-1, 13, -1, 12, -1, 9, -1, 8, -1, 5, -1, 4, -1, 1, -1, 0);
  const __m128i from = half == 0 ? two : _mm_add_epi8(two, _mm_set1_epi16(2));
  return ints(_mm256_shuffle_epi8(raw(words), _mm256_broadcastsi128_si256(from)));
}
MPLUS_INLINE I widen_signed_bytes(I words, int half) {
  const __m128i two = _mm_set_epi8(13, -1, 12, -1, 9, -1, 8, -1, 5, -1, 4, -1, 1, -1, 0, -1);
  const __m128i from = half == 0 ? two : _mm_add_epi8(two, _mm_set1_epi16(0x0200));
  return ints(_mm256_srai_epi16(_mm256_shuffle_epi8(raw(words), _mm256_broadcastsi128_si256(from)), 8));
}

}  // namespace mplus::kernels::MPLUS_ISA
