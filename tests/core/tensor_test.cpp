#include "mplus/core/tensors/tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "mplus/core/tensors/device_buffer.h"

namespace mplus {
namespace {

TEST(Tensor, RowsAreViewsOfTheSameElements) {
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor x(values.data(), DType::f32, {2, 3, 4});
  EXPECT_EQ(x.elements(), 24);
  EXPECT_TRUE(x.contiguous());
  const Tensor second = x.row(1);
  EXPECT_EQ(second.dimensions, 2);
  EXPECT_EQ(second.size(0), 3);
  EXPECT_EQ(second.size(1), 4);
  EXPECT_EQ(second.on_host<float>()[0], 12.0f);
  const Tensor last = second.rows(2, 1);
  EXPECT_EQ(last.elements(), 4);
  EXPECT_EQ(last.on_host<float>()[3], 23.0f);
  EXPECT_EQ(second.rows(3, 0).elements(), 0);
  last.on_host<float>()[3] = -1.0f;
  EXPECT_EQ(values.back(), -1.0f);
  EXPECT_EQ(x.as_shape({6, 4}).row(5).on_host<float>()[3], -1.0f);
}

TEST(Tensor, RowsOfQuantisedTypesAreWholeBlocks) {
  std::vector<BlockQ4_1> blocks(6);
  const ConstTensor w(blocks.data(), DType::q4_1, {3, 64});
  EXPECT_EQ(w.rows(2, 1).data, &blocks[4]);
}

TEST(Tensor, AViewWithGapsIsNotContiguous) {
  float values[12] = {};
  Tensor x(values, DType::f32, {3, 4});
  x.shape[1] = 2;
  EXPECT_FALSE(x.contiguous());
  EXPECT_EQ(x.row(2).on_host<float>(), values + 8);
  EXPECT_TRUE(x.rows(1, 1).contiguous()) << "one row has no gaps";
  EXPECT_DEATH(x.as_shape({6}), "gaps");
}

TEST(Tensor, WhatIsElsewhereIsNotTouched) {
  float value = 0;
  const Tensor far(&value, DType::f32, {1}, {DeviceKind::cuda, 1});
  EXPECT_DEATH(far.on_host<float>(), "cuda:1");
  const Tensor whole(&value, DType::i32, {1});
  EXPECT_DEATH(whole.on_host<float>(), "I32");
  EXPECT_DEATH(whole.rows(0, 2), "rows 0 \\+ 2 of 1");
}

TEST(Buffer, GivesItsMemoryBackOnce) {
  static int given_back = 0;
  float values[8] = {};
  {
    const auto release = [](void*, std::size_t size_bytes) { given_back += static_cast<int>(size_bytes); };
    Buffer buffer(values, sizeof(values), {}, release);
    Buffer other = std::move(buffer);
    EXPECT_EQ(other.tensor(DType::f32, {2, 4}).row(1).on_host<float>(), values + 4);
    EXPECT_DEATH(other.tensor(DType::f32, {3, 4}), "48 bytes of 32");
    buffer = std::move(other);
    EXPECT_EQ(given_back, 0);
  }
  EXPECT_EQ(given_back, 32);
}

}  // namespace
}  // namespace mplus
