#include "mplus/core/numbers/row_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "mplus/core/error.h"
#include "mplus/core/numbers/float16.h"

namespace mplus {
namespace {

constexpr std::array<std::string_view, 3> kFormatNames{"plain", "int8", "int4"};

constexpr float kSmallest = 0x1p-100f;  // a group below it counts as zero: its scale has no useful inverse

struct Codes {
  float least, most;
};
constexpr Codes codes_of(RowFormat format) {
  return format == RowFormat::int8 ? Codes{-127, 127} : Codes{-8, 7};
}

std::int64_t groups_of(std::int64_t n) { return (n + kSmallGroup - 1) / kSmallGroup; }

std::size_t code_bytes(RowFormat format, std::int64_t n) {
  return static_cast<std::size_t>(format == RowFormat::int8 ? n : (n + 1) / 2);
}

// Half: a constant where the compiler is to make vectors of it.
template <class Half>
void sums_and_differences(float* x, std::int64_t size, Half half) {
  for (std::int64_t i = 0; i < size; i += 2 * half)
    for (std::int64_t j = i; j < i + half; ++j) {
      const float a = x[j], b = x[j + half];
      x[j] = a + b;
      x[j + half] = a - b;
    }
}

// In place, unnormalised: twice is `size` times the input.
void butterflies(float* x, std::int64_t size) {
  for (std::int64_t half = 1; half < size; half *= 2) sums_and_differences(x, size, half);
}
template <std::int64_t... kHalves>
void whole_group(float* x, std::integer_sequence<std::int64_t, kHalves...>) {
  (sums_and_differences(x, kSmallGroup, std::integral_constant<std::int64_t, kHalves>()), ...);
}

std::int64_t largest_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

// Over the largest power of two that fits, then over the rest in the same way.
void hadamard(float* x, std::int64_t n) {
  if (n == kSmallGroup) return whole_group(x, std::integer_sequence<std::int64_t, 1, 2, 4, 8, 16, 32>());
  for (; n > 0; x += largest_power(n), n -= largest_power(n)) butterflies(x, largest_power(n));
}

// What a transform forth and back has multiplied each value with is taken out again: powers of two, so
// nothing is rounded by it.
void scale_back(float* x, std::int64_t n, float scale) {
  for (std::int64_t size = 0; n > 0; x += size, n -= size) {
    size = largest_power(n);
    const float factor = scale / static_cast<float>(size);
    for (std::int64_t i = 0; i < size; ++i) x[i] *= factor;
  }
}

struct Extremes {
  float lowest, highest;  // of the values and 0
};
Extremes extremes_of(const float* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 16;  // side by side, so that none waits for another
  std::array<float, kLanes> low{}, high{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const auto count = static_cast<std::size_t>(std::min(kLanes, n - i));
    for (std::size_t lane = 0; lane < count; ++lane) {
      const float v = x[i + static_cast<std::int64_t>(lane)];
      low[lane] = v < low[lane] ? v : low[lane];
      high[lane] = v > high[lane] ? v : high[lane];
    }
  }
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

// int8: the largest magnitude gets the code 127 or -127. int4 has one code more on one side: what is largest
// gets -8, so the scale has a sign. To bf16 it is rounded away from zero, so that no code is exceeded there.
std::uint16_t scale_of(RowFormat format, const float* x, std::int64_t n) {
  const auto [lowest, highest] = extremes_of(x, n);
  const float extreme = -lowest >= highest ? lowest : highest;
  if (std::max(-lowest, highest) < kSmallest) return 0;
  const float scale = format == RowFormat::int8 ? std::max(-lowest, highest) / 127.0f : extreme / -8.0f;
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(scale) + 0xffffu) >> 16);
}

// Codes as floats, to the nearest, halves to even: the sum has no bits left below one.
void round_codes(float* codes, const float* x, std::int64_t n, std::uint16_t scale, RowFormat format) {
  constexpr float kShift = 0x1.8p23f;
  const Codes range = codes_of(format);
  const float inverse = scale == 0 ? 0.0f : 1.0f / bf16_to_f32(scale);
  for (std::int64_t i = 0; i < n; ++i) {
    const float code = x[i] * inverse;
    const float above = code > range.least ? code : range.least;
    const float limited = above < range.most ? above : range.most;
    codes[i] = (limited + kShift) - kShift;
  }
}

void store_codes(std::byte* out, RowFormat format, const float* codes, std::int64_t n) {
  if (format == RowFormat::int8) {
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = static_cast<std::byte>(static_cast<std::int8_t>(static_cast<std::int32_t>(codes[i])));
    return;
  }
  const auto nibble = [&](std::int64_t i) {
    return static_cast<std::uint8_t>(i < n ? static_cast<std::int32_t>(codes[i]) + 8 : 8);
  };
  for (std::int64_t i = 0; i < (n + 1) / 2; ++i)
    out[i] = static_cast<std::byte>(nibble(2 * i) | nibble(2 * i + 1) << 4);
}

void load_codes(float* codes, RowFormat format, const std::byte* in, std::int64_t n) {
  if (format == RowFormat::int8) {
    for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<float>(static_cast<std::int8_t>(in[i]));
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const auto both = static_cast<std::int32_t>(in[i / 2]);
    codes[i] = static_cast<float>((i % 2 == 0 ? both & 15 : both >> 4) - 8);
  }
}

}  // namespace

std::string_view row_format_name(RowFormat format) { return kFormatNames[static_cast<std::size_t>(format)]; }

std::optional<RowFormat> row_format_from_name(std::string_view name) {
  const auto at = std::find(kFormatNames.begin(), kFormatNames.end(), name);
  if (at == kFormatNames.end()) return std::nullopt;
  return static_cast<RowFormat>(at - kFormatNames.begin());
}

std::string memory_type_name(const MemoryType& type) {
  std::string name(dtype_name(type.dtype));
  if (type.long_term != RowFormat::plain) name += fmt::format("/{}", row_format_name(type.long_term));
  return name;
}

std::optional<MemoryType> memory_type_from_name(std::string_view name) {
  const std::size_t cut = std::min(name.find('/'), name.size());
  const auto dtype = dtype_from_name(name.substr(0, cut));
  if (!dtype || (*dtype != DType::f32 && *dtype != DType::bf16)) return std::nullopt;
  if (cut == name.size()) return MemoryType{.dtype = *dtype};
  const auto format = row_format_from_name(name.substr(cut + 1));
  if (!format || *format == RowFormat::plain) return std::nullopt;
  return MemoryType{.dtype = *dtype, .long_term = *format};
}

std::size_t small_vector_bytes(RowFormat format, std::int64_t n) {
  return code_bytes(format, n) + static_cast<std::size_t>(groups_of(n)) * sizeof(std::uint16_t);
}

void make_small_vector(std::byte* out, RowFormat format, const float* values, std::int64_t n) {
  MPLUS_CHECK(format != RowFormat::plain, "a plain vector is stored as it is");
  std::byte* scales = out + code_bytes(format, n);
  for (std::int64_t at = 0; at < n; at += kSmallGroup, scales += sizeof(std::uint16_t)) {
    const std::int64_t count = std::min(kSmallGroup, n - at);
    std::array<float, kSmallGroup> group;
    std::copy_n(values + at, count, group.begin());
    hadamard(group.data(), count);
    const std::uint16_t scale = scale_of(format, group.data(), count);
    round_codes(group.data(), group.data(), count, scale, format);
    store_codes(out + code_bytes(format, at), format, group.data(), count);
    std::memcpy(scales, &scale, sizeof scale);
  }
}

void expand_small_vector(float* out, RowFormat format, const std::byte* vector, std::int64_t n) {
  MPLUS_CHECK(format != RowFormat::plain, "a plain vector is read as it is");
  const std::byte* scales = vector + code_bytes(format, n);
  for (std::int64_t at = 0; at < n; at += kSmallGroup, scales += sizeof(std::uint16_t)) {
    const std::int64_t count = std::min(kSmallGroup, n - at);
    std::uint16_t scale = 0;
    std::memcpy(&scale, scales, sizeof scale);
    load_codes(out + at, format, vector + code_bytes(format, at), count);
    hadamard(out + at, count);
    scale_back(out + at, count, bf16_to_f32(scale));
  }
}

std::size_t small_key_bytes(std::int64_t n) { return static_cast<std::size_t>(n) + sizeof(std::uint16_t); }

void make_small_key(std::byte* out, const float* values, std::int64_t n) {
  const std::uint16_t scale = scale_of(RowFormat::int8, values, n);
  for (std::int64_t at = 0; at < n; at += kSmallGroup) {
    const std::int64_t count = std::min(kSmallGroup, n - at);
    std::array<float, kSmallGroup> codes;
    round_codes(codes.data(), values + at, count, scale, RowFormat::int8);
    store_codes(out + at, RowFormat::int8, codes.data(), count);
  }
  std::memcpy(out + n, &scale, sizeof scale);
}

void expand_small_key(float* out, const std::byte* key, std::int64_t n) {
  std::uint16_t scale = 0;
  std::memcpy(&scale, key + n, sizeof scale);
  load_codes(out, RowFormat::int8, key, n);
  for (std::int64_t i = 0; i < n; ++i) out[i] *= bf16_to_f32(scale);
}

}  // namespace mplus
