// The float type of one byte with four bits of exponent and three of mantissa (e4m3): up to 448, no infinity.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace mplus {

inline constexpr float kMostE4m3 = 448.0f;

inline float e4m3_to_f32(std::uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(0x7fc00000u);
  const float magnitude = exponent == 0 ? static_cast<float>(mantissa) * 0x1p-9f
                                        : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// Rounded to the nearest, to even of two; what is too large becomes the largest. NaN stays NaN.
inline std::uint8_t f32_to_e4m3(float f) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(f) ? 0x80 : 0);
  const float x = std::abs(f);
  if (std::isnan(x)) return static_cast<std::uint8_t>(sign | 0x7f);
  if (x >= kMostE4m3) return static_cast<std::uint8_t>(sign | 0x7e);
  if (x < 0x1p-6f) return static_cast<std::uint8_t>(sign | static_cast<int>(std::nearbyint(x * 0x1p9f)));
  constexpr std::uint32_t kBias = (127 - 7) << 3, kHalf = 0x7ffff;  // of what 20 bits are cut off
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint8_t>(sign | (((bits + kHalf + (bits >> 20 & 1)) >> 20) - kBias));
}

}  // namespace mplus
