// AVX-512 F, BW, VL, DQ and VNNI; with MPLUS_AMX also BF16 and tiles (amx.h). Included by simd.h only.
#pragma once

#include <immintrin.h>

#define MPLUS_SHORT_SIGMOID  // add_reciprocal, for short_sigmoid.h
#define MPLUS_HALF_CACHES    // fast attention has keys and values of f16
#define MPLUS_ROUNDED  // prompts and writes in integers of 16 bits (linear_batched_i16.cpp), or in tiles of
                       // bf16
#define MPLUS_INTERLEAVED  // fast products read codes of kLanes rows as one stream (interleave.cpp)
#define MPLUS_FEW_I8       // a few rows of x meet them in registers (linear_few_i8.cpp)

namespace mplus::kernels::MPLUS_ISA {

inline constexpr std::int32_t kByteOffset = 128;  // dpbusd wants unsigned weights: q + 128
inline constexpr int kTileRows = 8;
#if defined(MPLUS_AMX)
inline constexpr int kTileRowsRounded = 32;
inline constexpr int kPanelRounded = 2 * kLanes;
inline constexpr int kMostPanels = 8;
#else
inline constexpr int kTileRowsRounded = 8;
inline constexpr int kPanelRounded = 3 * kLanes;
inline constexpr int kMostPanels = 1;
#endif
inline constexpr int kTileRowsI8 = 8;
inline constexpr int kPanelI8 = kLanes;

MPLUS_INLINE __m512i raw(I v) { return reinterpret_cast<__m512i>(v); }
MPLUS_INLINE I ints(__m512i v) { return reinterpret_cast<I>(v); }

MPLUS_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
MPLUS_INLINE F max(F a, F b) { return _mm512_max_ps(a, b); }
MPLUS_INLINE F min(F a, F b) { return _mm512_min_ps(a, b); }
MPLUS_INLINE float sum(F v) { return _mm512_reduce_add_ps(v); }
// total + 1 / v, by the estimate and a step.
MPLUS_INLINE F add_reciprocal(F total, F v) {
  F inverse = _mm512_rcp14_ps(v);
  return fma(inverse, fma(v, -inverse, splat(2.0f)), total);
}
MPLUS_INLINE F4 sum4(F a, F b, F c, F d) {  // the sum of each
  const F ab = _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b);
  const F cd = _mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d);
  const __m512d abd = _mm512_castps_pd(ab), cdd = _mm512_castps_pd(cd);
  const F all =
      _mm512_castpd_ps(_mm512_unpacklo_pd(abd, cdd)) + _mm512_castpd_ps(_mm512_unpackhi_pd(abd, cdd));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}
MPLUS_INLINE std::int32_t sum(I v) { return _mm512_reduce_add_epi32(raw(v)); }
MPLUS_INLINE float max_lane(F v) { return _mm512_reduce_max_ps(v); }
MPLUS_INLINE I round_to_int(F v) { return ints(_mm512_cvtps_epi32(v)); }
MPLUS_INLINE I gather(const std::byte* base, I offsets) {
  return ints(_mm512_i32gather_epi32(raw(offsets), base, 1));
}

MPLUS_INLINE I widen_u8(const void* p) { return ints(_mm512_cvtepu8_epi32(load_bits<__m128i>(p))); }
MPLUS_INLINE I widen_i8(const void* p) { return ints(_mm512_cvtepi8_epi32(load_bits<__m128i>(p))); }
MPLUS_INLINE I widen_u16(const void* p) { return ints(_mm512_cvtepu16_epi32(load_bits<__m256i>(p))); }
MPLUS_INLINE void narrow_i8(std::int8_t* p, I v) { store_bits(p, _mm512_cvtepi32_epi8(raw(v))); }
MPLUS_INLINE void narrow_i8(std::int8_t* p, I a, I b) {
  narrow_i8(p, a);
  narrow_i8(p + kLanes, b);
}
MPLUS_INLINE void narrow_u16(void* p, I v) { store_bits(p, _mm512_cvtepi32_epi16(raw(v))); }
MPLUS_INLINE float half_scalar(std::uint16_t h) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h))); }
MPLUS_INLINE F half_to_float(I h) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(raw(h))); }
MPLUS_INLINE F load_halves(const void* p) { return _mm512_cvtph_ps(load_bits<__m256i>(p)); }
MPLUS_INLINE I float_to_half(F v) {
  return ints(_mm512_cvtepu16_epi32(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
}

// Four products of unsigned w and signed a into each 32-bit lane.
MPLUS_INLINE I dot4(I acc, I w, I a) { return ints(_mm512_dpbusd_epi32(raw(acc), raw(w), raw(a))); }
MPLUS_INLINE I dot4_nibbles(I acc, I w, I a) { return dot4(acc, w, a); }
// Two products of 16 bits each into each 32-bit lane.
MPLUS_INLINE I dot2(I acc, I w, I a) { return ints(_mm512_dpwssd_epi32(raw(acc), raw(w), raw(a))); }
// The same of signed w: its sign moves over to a.
MPLUS_INLINE I dot4_signed(I acc, I w, I a) {
  const __m512i turned =
      _mm512_mask_sub_epi8(raw(a), _mm512_movepi8_mask(raw(w)), _mm512_setzero_si512(), raw(a));
  return dot4(acc, ints(_mm512_abs_epi8(raw(w))), ints(turned));
}

}  // namespace mplus::kernels::MPLUS_ISA
