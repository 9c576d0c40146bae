// Each stored type against a plain statement in double precision. The products and sums below are exact in
// double (an f16 times an integer below 256, plus an f16), so one rounding to float remains: bit equality.
#include "mplus/io/weights/dequantise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "mplus/core/files/file.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/io/gguf/gguf.h"

namespace mplus::io {
namespace {

// The value of an f16 from its fields, not through the conversion under use.
double f16_value(std::uint16_t h) {
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

std::uint16_t random_f16(std::mt19937& random) {
  return static_cast<std::uint16_t>(random() & 0xbbff);
}  // finite

template <class Block>
std::vector<Block> random_blocks(std::int64_t count, std::mt19937& random) {
  std::vector<Block> blocks(static_cast<std::size_t>(count));
  for (Block& block : blocks) {
    std::uint8_t bytes[sizeof(Block)];
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    std::memcpy(&block, bytes, sizeof block);
    block.scale = random_f16(random);
    if constexpr (requires { block.minimum; }) block.minimum = random_f16(random);
  }
  return blocks;
}

// x of element i of a row, as the format defines it.
double element(const BlockQ8_0* row, std::int64_t i) {
  return f16_value(row[i / 32].scale) * row[i / 32].q[i % 32];
}
int nibble(const std::uint8_t* q, std::int64_t i) { return i < 16 ? q[i] % 16 : q[i - 16] / 16; }
double element(const BlockQ4_0* row, std::int64_t i) {
  return f16_value(row[i / 32].scale) * (nibble(row[i / 32].q, i % 32) - 8);
}
int five_bits(const std::uint8_t* q, const std::uint8_t* high, std::int64_t i) {
  return nibble(q, i) + 16 * (high[i / 8] >> i % 8 & 1);
}
double element(const BlockQ5_0* row, std::int64_t i) {
  const BlockQ5_0& block = row[i / 32];
  return f16_value(block.scale) * (five_bits(block.q, block.high, i % 32) - 16);
}
double element(const BlockQ5_1* row, std::int64_t i) {
  const BlockQ5_1& block = row[i / 32];
  return f16_value(block.scale) * five_bits(block.q, block.high, i % 32) + f16_value(block.minimum);
}
double element(const BlockQ4_1* row, std::int64_t i) {
  return f16_value(row[i / 32].scale) * nibble(row[i / 32].q, i % 32) + f16_value(row[i / 32].minimum);
}

template <class Block>
void check_blocks(DType dtype) {
  std::mt19937 random(7);
  for (const std::int64_t cols : {0, 32, 64, 96, 576}) {
    const std::int64_t rows = 3;
    const auto blocks = random_blocks<Block>(rows * cols / 32 + 1, random);
    const Matrix w{blocks.data(), dtype, rows, cols, nullptr};
    std::vector<float> out(static_cast<std::size_t>(cols) + 1, -7.0f);
    for (std::int64_t r = 0; r < rows; ++r) {
      dequantise_row(out.data(), w, r);
      const Block* row = blocks.data() + r * cols / 32;
      for (std::int64_t i = 0; i < cols; ++i)
        ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(element(row, i))) << r << "," << i;
      ASSERT_EQ(out.back(), -7.0f) << "written past the row";
    }
  }
}

TEST(Dequantise, Q8_0) { check_blocks<BlockQ8_0>(DType::q8_0); }
TEST(Dequantise, Q4_0) { check_blocks<BlockQ4_0>(DType::q4_0); }
TEST(Dequantise, Q4_1) { check_blocks<BlockQ4_1>(DType::q4_1); }
TEST(Dequantise, Q5_0) { check_blocks<BlockQ5_0>(DType::q5_0); }
TEST(Dequantise, Q5_1) { check_blocks<BlockQ5_1>(DType::q5_1); }

// Made by tools/dequantise_reference.py: blocks of random bytes of each quantised type, and what PyPI's gguf
// reads in them.
TEST(Dequantise, EveryQuantisedTypeAsTheGgufPackageReadsIt) {
  const Gguf file = Gguf::open(MPLUS_TEST_DATA "/quantised/blocks.gguf");
  const auto expected = MappedFile::open(MPLUS_TEST_DATA "/quantised/values.bin");
  std::size_t at = 0;
  for (const char* type : {"Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K", "Q8_0"}) {
    const Tensor& tensor = file.at(type);
    ASSERT_EQ(dtype_name(tensor.dtype), type);
    const std::vector<float> values = dequantise(tensor);
    const std::size_t size = values.size() * sizeof(float);
    ASSERT_LE(at + size, expected->bytes().size());
    EXPECT_EQ(std::memcmp(values.data(), expected->bytes().data() + at, size), 0) << type;
    at += size;
  }
  EXPECT_EQ(at, expected->bytes().size());
}

template <class T>
std::vector<float> whole(DType dtype, const std::vector<T>& values) {
  const Tensor tensor{
      "t", dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
  return dequantise(tensor);
}

TEST(Dequantise, PlainTypes) {
  using Floats = std::vector<float>;
  EXPECT_EQ(whole<float>(DType::f32, {1.5f, -0.0f, 1e-40f}), (Floats{1.5f, -0.0f, 1e-40f}));
  EXPECT_EQ(whole<std::uint16_t>(DType::bf16, {0x3fc0, 0xc000, 0}), (Floats{1.5f, -2.0f, 0.0f}));
  EXPECT_EQ(whole<std::uint16_t>(DType::f16, {0x3e00, 0xc000, 0x0001}), (Floats{1.5f, -2.0f, 0x1p-24f}));
  EXPECT_EQ(whole<std::int64_t>(DType::i64, {-5, std::int64_t{1} << 40}), (Floats{-5, 0x1p40f}));
  EXPECT_EQ(whole<std::int32_t>(DType::i32, {-5, 16777217}), (Floats{-5, 16777216}));
  EXPECT_EQ(whole<std::int8_t>(DType::i8, {-128, 127}), (Floats{-128, 127}));
  EXPECT_EQ(whole<std::uint8_t>(DType::u8, {0, 255}), (Floats{0, 255}));
  EXPECT_EQ(whole<std::uint8_t>(DType::boolean, {0, 1}), (Floats{0, 1}));
  EXPECT_EQ(whole<float>(DType::f32, {}), Floats{});
}

TEST(Dequantise, RowsOfI8TakeTheirScales) {
  const std::int8_t q[] = {1, -2, 3, 4};
  const float scales[] = {0.5f, 0.1f};
  const Matrix w{q, DType::i8, 2, 2, scales};
  float out[2];
  dequantise_row(out, w, 1);
  EXPECT_EQ(out[0], 0.1f * 3.0f);
  EXPECT_EQ(out[1], 0.1f * 4.0f);
}

TEST(Dequantise, AMatrixIsAllDimsButTheLast) {
  const float values[12] = {};
  const Tensor tensor{"t", DType::f32, {2, 3, 2}, std::as_bytes(std::span(values))};
  EXPECT_EQ(tensor.matrix().rows, 6);
  EXPECT_EQ(tensor.matrix().cols, 2);
  EXPECT_EQ((Tensor{"t", DType::f32, {}, std::as_bytes(std::span(values, 1))}).matrix().rows, 1);
  EXPECT_EQ((Tensor{"t", DType::f32, {3, 0}, {}}).matrix().rows, 0);
}

TEST(UnpermuteRows, PutsEvenRowsOfAHeadBeforeOddOnes) {
  for (const auto& [heads, e] : {std::pair{1, 2}, {3, 4}, {2, 6}, {9, 64}}) {
    const std::int64_t rows = heads * e;
    for (const std::size_t row_bytes : {std::size_t{1}, std::size_t{20}}) {
      std::vector<std::byte> in(static_cast<std::size_t>(rows) * row_bytes), out(in.size()), back(in.size());
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 131 >> 3);
      unpermute_rows(out.data(), in.data(), rows, row_bytes, heads);
      for (std::int64_t head = 0; head < heads; ++head)
        for (std::int64_t half = 0; half < 2; ++half)
          for (std::int64_t i = 0; i < e / 2; ++i) {
            const auto to = static_cast<std::size_t>(head * e + half * (e / 2) + i) * row_bytes;
            const auto from = static_cast<std::size_t>(head * e + 2 * i + half) * row_bytes;
            ASSERT_EQ(std::memcmp(&out[to], &in[from], row_bytes), 0);
          }
      permute_rows(back.data(), out.data(), rows, row_bytes, heads);
      EXPECT_EQ(back, in);
    }
  }
}

}  // namespace
}  // namespace mplus::io
