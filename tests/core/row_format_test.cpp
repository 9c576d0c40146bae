#include "mplus/core/numbers/row_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "mplus/core/numbers/float16.h"

namespace mplus {
namespace {

std::vector<float> random_values(std::int64_t n, unsigned seed, float size = 1.0f) {
  std::mt19937 random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(size * (static_cast<float>(random()) * 0x1p-31f - 1.0f));
  return values;
}

std::vector<std::byte> small_vector(RowFormat format, const std::vector<float>& values) {
  std::vector<std::byte> bytes(small_vector_bytes(format, std::ssize(values)));
  make_small_vector(bytes.data(), format, values.data(), std::ssize(values));
  return bytes;
}

std::vector<float> expanded(RowFormat format, const std::vector<std::byte>& bytes, std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  expand_small_vector(values.data(), format, bytes.data(), n);
  return values;
}

// A transform over n values is √n times a rotation. n sums that are s / 2 off each, √n · s / 2 together, move
// the values by s / 2 together. No sum exceeds √n times the norm, and a scale is at most 1/128 larger than it
// must be. Of int4 the sums on the side of 7 may be a whole step off.
TEST(RowFormat, ErrorsAreWithinTheirSteps) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    const double most = format == RowFormat::int8 ? 127 : 8, part = format == RowFormat::int8 ? 0.5 : 1.0;
    for (const std::int64_t n : {1, 2, 3, 5, 63, 64, 65, 127, 192, 200}) {
      for (const float size : {1.0f, 1e-6f, 3e4f}) {
        const std::vector<float> values = random_values(n, static_cast<unsigned>(n), size);
        const std::vector<float> back = expanded(format, small_vector(format, values), n);
        for (std::int64_t at = 0; at < n; at += kSmallGroup) {
          const std::int64_t count = std::min(kSmallGroup, n - at);
          double squares = 0, norm = 0;
          for (std::int64_t i = at; i < at + count; ++i) {
            const auto j = static_cast<std::size_t>(i);
            squares += std::pow(static_cast<double>(back[j]) - static_cast<double>(values[j]), 2);
            norm += std::pow(static_cast<double>(values[j]), 2);
          }
          const double step = std::sqrt(static_cast<double>(count) * norm) / most * (1 + 1.0 / 128);
          EXPECT_LE(squares, std::pow(part * step, 2) * (1 + 1e-5)) << row_format_name(format) << " " << n;
        }
      }
    }
  }
}

TEST(RowFormat, KeysAreWithinHalfAStep) {
  for (const std::int64_t n : {1, 2, 5, 64, 65, 256}) {
    const std::vector<float> values = random_values(n, 7, 2.0f);
    std::vector<std::byte> key(small_key_bytes(n));
    make_small_key(key.data(), values.data(), n);
    std::vector<float> back(values.size());
    expand_small_key(back.data(), key.data(), n);
    float largest = 0;
    for (const float x : values) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(back[i], values[i], largest / 127 * (1 + 1.0f / 128) / 2 * 1.001f);
      EXPECT_GE(static_cast<std::int8_t>(key[i]), -127);
    }
  }
}

// Bytes are part of files that are compared with replays on other machines: they may never change. The sums
// are those of a second implementation, in Python.
TEST(RowFormat, BytesAreTheSameForEver) {
  std::vector<float> values;
  for (int i = 0; i < 70; ++i) values.push_back(static_cast<float>(i * i % 37 - 18) * 0.0625f);
  const auto sum = [](const std::vector<std::byte>& bytes) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 1099511628211u;
    return hash;
  };
  std::vector<std::byte> key(small_key_bytes(70));
  make_small_key(key.data(), values.data(), 70);
  EXPECT_EQ(sum(small_vector(RowFormat::int8, values)), 0x4b35ea7606f57256u);
  EXPECT_EQ(sum(small_vector(RowFormat::int4, values)), 0x54cf2562302a10f0u);
  EXPECT_EQ(sum(key), 0xebeddb0fa5f693afu);
}

TEST(RowFormat, ZerosAndSingleValuesComeBack) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    const std::vector<float> zeros(130, 0.0f);
    EXPECT_EQ(expanded(format, small_vector(format, zeros), 130), zeros);
    std::vector<float> one(64, 0.0f);
    one[5] = 3.0f;  // every sum is ±3
    const std::vector<float> back = expanded(format, small_vector(format, one), 64);
    const float step = format == RowFormat::int8 ? 3.0f / 127 : 3.0f / 8;
    for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(back[i], one[i], step);
  }
}

TEST(RowFormat, WhatIsNoNumberDoesNoHarm) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4})
    for (const float odd : {infinity, -infinity, std::nanf("")}) {
      std::vector<float> values = random_values(70, 3);
      values[66] = odd;
      const std::vector<float> back = expanded(format, small_vector(format, values), 70);
      EXPECT_TRUE(std::isfinite(back[0]));  // another group
      std::vector<std::byte> key(small_key_bytes(70));
      make_small_key(key.data(), values.data(), 70);
    }
}

TEST(RowFormat, SizesAndNames) {
  EXPECT_EQ(small_vector_bytes(RowFormat::int8, 192), 198u);
  EXPECT_EQ(small_vector_bytes(RowFormat::int4, 192), 102u);
  EXPECT_EQ(small_vector_bytes(RowFormat::int4, 65), 37u);
  EXPECT_EQ(small_key_bytes(64), 66u);
  for (const RowFormat format : {RowFormat::plain, RowFormat::int8, RowFormat::int4})
    EXPECT_EQ(row_format_from_name(row_format_name(format)), format);
  EXPECT_FALSE(row_format_from_name("int2"));
  for (const MemoryType& type :
       {MemoryType{}, MemoryType{DType::f32, RowFormat::plain}, MemoryType{DType::bf16, RowFormat::int8},
        MemoryType{DType::f32, RowFormat::int4}})
    EXPECT_EQ(memory_type_from_name(memory_type_name(type)), type);
  EXPECT_EQ(memory_type_name({DType::bf16, RowFormat::int4}), "BF16/int4");
  for (const char* name : {"", "BF16/", "BF16/plain", "BF16/int8/int4", "I8", "bf16"})
    EXPECT_FALSE(memory_type_from_name(name)) << name;
}

}  // namespace
}  // namespace mplus
