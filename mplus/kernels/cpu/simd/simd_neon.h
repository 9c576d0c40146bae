// NEON, with the int8 dot product where the target has it. Included by simd.h only.
#pragma once

#include <arm_neon.h>

#if defined(__ARM_FEATURE_MATMUL_INT8)
#define MPLUS_MATRIX_I8    // products of int8 by matrix instructions: rows of x lie in pairs
#define MPLUS_INTERLEAVED  // fast products read codes of kLanes rows as one stream (interleave.cpp)
#define MPLUS_FEW_I8       // a few rows of x meet them in registers (linear_few_i8.cpp)
#endif

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define MPLUS_MATRIX_BF16
#define MPLUS_ROUNDED  // prompts and writes in bf16: linear_batched_bf16.cpp
#endif

#define MPLUS_SHORT_SIGMOID  // add_reciprocal, for short_sigmoid.h

namespace mplus::kernels::MPLUS_ISA {

inline constexpr std::int32_t kByteOffset = 0;
inline constexpr int kTileRows = 8;
inline constexpr int kTileRowsI8 = 8;
inline constexpr int kPanelI8 = kLanes;
inline constexpr int kTileRowsRounded = 8;
inline constexpr int kPanelRounded = 12;
inline constexpr int kMostPanels = 1;

MPLUS_INLINE float32x4_t raw(F v) { return reinterpret_cast<float32x4_t>(v); }
MPLUS_INLINE int32x4_t raw(I v) { return reinterpret_cast<int32x4_t>(v); }
MPLUS_INLINE int8x16_t bytes(I v) { return reinterpret_cast<int8x16_t>(v); }
MPLUS_INLINE I ints(int32x4_t v) { return reinterpret_cast<I>(v); }
MPLUS_INLINE F floats(float32x4_t v) { return reinterpret_cast<F>(v); }

MPLUS_INLINE F fma(F a, F b, F c) { return floats(vfmaq_f32(raw(c), raw(a), raw(b))); }
MPLUS_INLINE F max(F a, F b) { return floats(vmaxq_f32(raw(a), raw(b))); }
MPLUS_INLINE F min(F a, F b) { return floats(vminq_f32(raw(a), raw(b))); }
MPLUS_INLINE float sum(F v) { return vaddvq_f32(raw(v)); }
// total + 1 / v, by the estimate and two steps.
MPLUS_INLINE F add_reciprocal(F total, F v) {
  float32x4_t inverse = vrecpeq_f32(raw(v));
  inverse = vmulq_f32(inverse, vrecpsq_f32(raw(v), inverse));
  return floats(vfmaq_f32(raw(total), inverse, vrecpsq_f32(raw(v), inverse)));
}
MPLUS_INLINE F4 sum4(F a, F b, F c, F d) {  // the sum of each
  return floats(vpaddq_f32(vpaddq_f32(raw(a), raw(b)), vpaddq_f32(raw(c), raw(d))));
}
MPLUS_INLINE std::int32_t sum(I v) { return vaddvq_s32(raw(v)); }
MPLUS_INLINE float max_lane(F v) { return vmaxvq_f32(raw(v)); }
MPLUS_INLINE I round_to_int(F v) { return ints(vcvtnq_s32_f32(raw(v))); }
MPLUS_INLINE I gather(const std::byte* base, I offsets) {
  I v;
  for (int lane = 0; lane < 4; ++lane) {
    std::int32_t element;
    __builtin_memcpy(&element, base + offsets[lane], 4);
    v[lane] = element;
  }
  return v;
}

MPLUS_INLINE uint8x8_t four_bytes(const void* p) {
  std::uint32_t word;
  __builtin_memcpy(&word, p, 4);
  return vcreate_u8(word);
}
MPLUS_INLINE I widen_u8(const void* p) {
  return ints(vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(four_bytes(p))))));
}
MPLUS_INLINE I widen_i8(const void* p) {
  return ints(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(four_bytes(p))))));
}
MPLUS_INLINE I widen_u16(const void* p) {
  return ints(vreinterpretq_s32_u32(vmovl_u16(load_bits<uint16x4_t>(p))));
}
MPLUS_INLINE void narrow_i8(std::int8_t* p, I v) {
  const int8x8_t narrow = vmovn_s16(vcombine_s16(vmovn_s32(raw(v)), vdup_n_s16(0)));
  const std::uint32_t word = vget_lane_u32(vreinterpret_u32_s8(narrow), 0);
  __builtin_memcpy(p, &word, 4);
}
MPLUS_INLINE void narrow_i8(std::int8_t* p, I a, I b) {
  store_bits(p, vmovn_s16(vcombine_s16(vmovn_s32(raw(a)), vmovn_s32(raw(b)))));
}
MPLUS_INLINE void narrow_u16(void* p, I v) { store_bits(p, vmovn_s32(raw(v))); }
MPLUS_INLINE float half_scalar(std::uint16_t h) {
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h))), 0);
}
MPLUS_INLINE F half_to_float(I h) { return floats(vcvt_f32_f16(vreinterpret_f16_s16(vmovn_s32(raw(h))))); }
MPLUS_INLINE F load_halves(const void* p) { return floats(vcvt_f32_f16(load_bits<float16x4_t>(p))); }
MPLUS_INLINE I float_to_half(F v) {
  return ints(vreinterpretq_s32_u32(vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(raw(v))))));
}

#if defined(MPLUS_MATRIX_BF16)
MPLUS_INLINE uint16x8_t to_bf16(F a, F b) {
  return vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(raw(a)), raw(b)));
}
#endif

// Four int8 products into each 32-bit lane.
MPLUS_INLINE I dot4(I acc, I w, I a) {
#if defined(__ARM_FEATURE_DOTPROD)
  return ints(vdotq_s32(raw(acc), bytes(w), bytes(a)));
#else
  const int16x8_t low = vmull_s8(vget_low_s8(bytes(w)), vget_low_s8(bytes(a)));
  const int16x8_t high = vmull_high_s8(bytes(w), bytes(a));
  return ints(vaddq_s32(raw(acc), vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high))));
#endif
}
MPLUS_INLINE I dot4_nibbles(I acc, I w, I a) { return dot4(acc, w, a); }
MPLUS_INLINE I dot4_signed(I acc, I w, I a) { return dot4(acc, w, a); }

}  // namespace mplus::kernels::MPLUS_ISA
