#include "mplus/io/weights/quantise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/io/expect_error.h"

namespace mplus::io {
namespace {

TEST(Quantise, EveryElementComesBackWithinHalfAStep) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const auto& [rows, cols] : {std::pair{0, 5}, {1, 1}, {3, 33}, {7, 576}}) {
    std::vector<float> x(static_cast<std::size_t>(rows * cols)), back(static_cast<std::size_t>(cols));
    for (float& v : x) v = normal(random);
    const Int8Rows q = quantise_rows(x, rows, cols);
    const Matrix w{q.values.data(), DType::i8, rows, cols, q.scales.data()};
    for (std::int64_t r = 0; r < rows; ++r) {
      dequantise_row(back.data(), w, r);
      const float scale = q.scales[static_cast<std::size_t>(r)];
      // Half a step, and the rounding of x / scale, of scale * q (both below 128 steps) in float.
      const float bound = scale * (0.5f + 3 * 128 * std::numeric_limits<float>::epsilon());
      for (std::int64_t i = 0; i < cols; ++i)
        ASSERT_LE(std::abs(back[static_cast<std::size_t>(i)] - x[static_cast<std::size_t>(r * cols + i)]),
                  bound);
    }
  }
}

TEST(Quantise, TheLargestElementTakesTheWholeRange) {
  const float x[] = {0.5f, -2.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  const Int8Rows q = quantise_rows(x, 2, 3);
  EXPECT_EQ(q.scales[0], 2.0f / 127);
  EXPECT_EQ(q.values, (std::vector<std::int8_t>{32, -127, 0, 0, 0, 0}));  // 31.75 rounds up
  EXPECT_EQ(q.scales[1], 0.0f);
}

TEST(Quantise, InfinityIsRefused) {
  const float x[] = {1, std::numeric_limits<float>::infinity()};
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("inf"), quantise_rows(x, 1, 2));
}

// Quantising what the shipped delta says gives its integers back.
TEST(Quantise, TheShippedDeltaIsAFixedPoint) {
  const auto file = Safetensors::open(MPLUS_SOURCE_DIR "/models/smollm2-135m-mplus.safetensors");
  for (const char* name : {"model.layers.0.self_attn.q_proj.lora_B.default.weight",
                           "model.layers.29.self_attn.key_proj.0.weight"}) {
    const Tensor& tensor = file.at(name, {DType::i8}, {-1, -1});
    Matrix w = tensor.matrix();
    w.row_scales = static_cast<const float*>(file.at(std::string(name) + "_scale").matrix().data);
    std::vector<float> x(static_cast<std::size_t>(w.rows * w.cols));
    for (std::int64_t r = 0; r < w.rows; ++r) dequantise_row(x.data() + r * w.cols, w, r);
    const Int8Rows q = quantise_rows(x, w.rows, w.cols);
    EXPECT_TRUE(std::equal(q.values.begin(), q.values.end(), static_cast<const std::int8_t*>(w.data)))
        << name;
  }
}

}  // namespace
}  // namespace mplus::io
