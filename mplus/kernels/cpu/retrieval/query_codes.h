// Codes of queries and scales of keys (core/numbers/row_format.h, "small key"), as both ways of scoring need
// them.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {

inline constexpr std::int64_t kKeyScaleBytes = 2;

// To the nearest, halves to even, within ±127.
MPLUS_INLINE std::int32_t rounded(float x) {
  constexpr float kMost = 127, kShift = 0x1.8p23f;
  const float limited = !(x > -kMost) ? -kMost : x > kMost ? kMost : x;
  return static_cast<std::int32_t>((limited + kShift) - kShift);
}

struct QueryScale {
  float value, inverse;
};
MPLUS_INLINE QueryScale scale_of(const float* q, std::int64_t d_r) {
  float largest = 0;
  for (std::int64_t i = 0; i < d_r; ++i) largest = max_of(largest, q[i] < 0 ? -q[i] : q[i]);
  const float scale = largest / 127.0f;
  return {scale, scale >= 0x1p-100f ? 1.0f / scale : 0.0f};
}

// The scale behind a key's codes: the upper half of a float.
MPLUS_INLINE float key_scale(const std::byte* at) {
  std::uint16_t scale;
  __builtin_memcpy(&scale, at, sizeof scale);
  const std::uint32_t bits = static_cast<std::uint32_t>(scale) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace mplus::kernels::MPLUS_ISA
