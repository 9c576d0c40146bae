// 128-bit vectors in GNU C++ alone: whatever the baseline of the target is. No fused multiply-add, no integer
// dot product. Included by simd.h only.
#pragma once

namespace mplus::kernels::MPLUS_ISA {

inline constexpr std::int32_t kByteOffset = 0;  // weights of eight bits are stored as they are
inline constexpr int kTileRows = 4;  // rows of a batched f32 tile; acc takes kTileRows * 3 registers
inline constexpr int kTileRowsI8 = 4;
inline constexpr int kPanelI8 = kLanes;

typedef std::int16_t S __attribute__((vector_size(16)));

MPLUS_INLINE F fma(F a, F b, F c) { return a * b + c; }
MPLUS_INLINE F max(F a, F b) { return a > b ? a : b; }
MPLUS_INLINE F min(F a, F b) { return a < b ? a : b; }
MPLUS_INLINE float sum(F v) { return (v[0] + v[2]) + (v[1] + v[3]); }
MPLUS_INLINE F4 sum4(F a, F b, F c, F d) { return F4{sum(a), sum(b), sum(c), sum(d)}; }
// Wraps, as vectors do: lanes of what was no number hold anything.
MPLUS_INLINE std::int32_t sum(I v) {
  std::uint32_t total = 0;
  for (int lane = 0; lane < 4; ++lane) total += static_cast<std::uint32_t>(v[lane]);
  return static_cast<std::int32_t>(total);
}
MPLUS_INLINE float max_lane(F v) { return max_of(max_of(v[0], v[2]), max_of(v[1], v[3])); }

MPLUS_INLINE I round_to_int(F v) {  // nearest even, |v| < 2^22: the sum's low bits are the integer
  const F shifted = v + 12582912.0f;
  return as_int(shifted) - as_int(splat(12582912.0f));
}

MPLUS_INLINE I gather(const std::byte* base, I offsets) {
  I v;
  for (int lane = 0; lane < 4; ++lane) {
    std::int32_t element;
    __builtin_memcpy(&element, base + offsets[lane], 4);
    v[lane] = element;
  }
  return v;
}

MPLUS_INLINE I widen_u8(const void* p) {
  const auto* b = static_cast<const std::uint8_t*>(p);
  return I{b[0], b[1], b[2], b[3]};
}
MPLUS_INLINE I widen_i8(const void* p) {
  const auto* b = static_cast<const std::int8_t*>(p);
  return I{b[0], b[1], b[2], b[3]};
}
MPLUS_INLINE I widen_u16(const void* p) {
  std::uint16_t h[4];
  __builtin_memcpy(h, p, sizeof h);
  return I{h[0], h[1], h[2], h[3]};
}
MPLUS_INLINE void narrow_i8(std::int8_t* p, I v) {
  for (int lane = 0; lane < 4; ++lane) p[lane] = static_cast<std::int8_t>(v[lane]);
}
MPLUS_INLINE void narrow_i8(std::int8_t* p, I a, I b) {
  narrow_i8(p, a);
  narrow_i8(p + kLanes, b);
}
MPLUS_INLINE void narrow_u16(void* p, I v) {
  std::uint16_t h[4];
  for (int lane = 0; lane < 4; ++lane) h[lane] = static_cast<std::uint16_t>(v[lane]);
  __builtin_memcpy(p, h, sizeof h);
}
MPLUS_INLINE float half_scalar(std::uint16_t h) { return half_bits_to_float(I{h, 0, 0, 0})[0]; }
MPLUS_INLINE F half_to_float(I h) { return half_bits_to_float(h); }
MPLUS_INLINE I float_to_half(F v) { return float_to_half_bits(v); }

// Four int8 products into each 32-bit lane. |w| ≤ 128 and |a| ≤ 127 keep a pair's sum within 16 bits.
MPLUS_INLINE I dot4(I acc, I w, I a) {
  const S ws = reinterpret_cast<S>(w), as = reinterpret_cast<S>(a);
  const S even = (reinterpret_cast<S>(ws << 8) >> 8) * (reinterpret_cast<S>(as << 8) >> 8);
  const I pair = reinterpret_cast<I>(static_cast<S>(even + (ws >> 8) * (as >> 8)));
  return acc + ((pair << 16) >> 16) + (pair >> 16);
}
MPLUS_INLINE I dot4_nibbles(I acc, I w, I a) { return dot4(acc, w, a); }
MPLUS_INLINE I dot4_signed(I acc, I w, I a) { return dot4(acc, w, a); }

}  // namespace mplus::kernels::MPLUS_ISA
