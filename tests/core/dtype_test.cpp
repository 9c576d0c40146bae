#include "mplus/core/numbers/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "mplus/core/numbers/float16.h"
#include "mplus/core/numbers/float8.h"

namespace mplus {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::q6_k); ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(t)), t);
  }
  EXPECT_FALSE(dtype_from_name("F8_E4M3"));
}

TEST(Float16, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t h = 0; h < 0x10000; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    const float f = f16_to_f32(half);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f))));
    } else {
      EXPECT_EQ(f32_to_f16(f), half) << h;
    }
    const float b = bf16_to_f32(half);
    if (!std::isnan(b)) {
      EXPECT_EQ(f32_to_bf16(b), half) << h;
    }
  }
}

// The law: a rounding returns the nearest representable value, and of two equally near the one with an even
// last bit.
TEST(Float16, RoundsToNearestEven) {
  for (std::uint32_t h = 0; h < 0x7bff; ++h) {
    const auto low = static_cast<std::uint16_t>(h);
    const auto high = static_cast<std::uint16_t>(h + 1);
    const float middle = 0.5f * (f16_to_f32(low) + f16_to_f32(high));  // exact in f32
    EXPECT_EQ(f32_to_f16(middle), (low & 1u) ? high : low) << h;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), low) << h;
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), high) << h;
  }
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), f32_to_bf16(1.0f));
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1.8p-7f), f32_to_bf16(1.0f + 0x1p-6f));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Float8, EveryValueIsItsOwnAndBetweenTwoTheNearest) {
  for (int code = 0; code < 0x7f; ++code) {
    const float x = e4m3_to_f32(static_cast<std::uint8_t>(code));
    EXPECT_EQ(f32_to_e4m3(x), code);
    EXPECT_EQ(f32_to_e4m3(-x), code | 0x80);
    if (code == 0x7e) continue;
    const float next = e4m3_to_f32(static_cast<std::uint8_t>(code + 1)), middle = (x + next) / 2;
    EXPECT_LT(x, next);
    EXPECT_EQ(f32_to_e4m3(middle), code + code % 2) << "to even";
    EXPECT_EQ(f32_to_e4m3(std::nextafter(middle, x)), code);
    EXPECT_EQ(f32_to_e4m3(std::nextafter(middle, next)), code + 1);
  }
  EXPECT_EQ(e4m3_to_f32(0x7e), kMostE4m3);
  EXPECT_EQ(e4m3_to_f32(0x08), 0x1p-6f) << "the smallest normal one";
  EXPECT_EQ(f32_to_e4m3(1e9f), 0x7e);
  EXPECT_TRUE(std::isnan(e4m3_to_f32(f32_to_e4m3(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace mplus
