// Are these numbers? Tells NaN and infinities by their bits, without a branch in the loop.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace mplus {

inline bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t bad = 0;
  for (const float x : values) bad |= (std::bit_cast<std::uint32_t>(x) & kExponent) == kExponent ? 1u : 0u;
  return bad == 0;
}

}  // namespace mplus
