// Weights in the order in which the processor's products read them.
#include "mplus/model/placement.h"

#include <gtest/gtest.h>

#include <vector>

#include "mplus/core/thread_pool.h"
#include "mplus/kernels/isa.h"

namespace mplus::model {
namespace {

// A layer whose q is quantised, beside a head that is the embedding, as in models with tied embeddings.
class PlacementTest : public testing::Test {
 protected:
  static constexpr std::int64_t kRows = 6, kCols = 64;

  PlacementTest() : bytes_(kRows * row_bytes(DType::q4_1, kCols), std::byte{0x21}), plain_(kRows * kCols) {
    auto weights = std::make_shared<Weights>();
    weights->embedding = weights->head = {bytes_.data(), DType::q4_1, kRows, kCols};
    Layer layer;
    layer.q.base = weights->head;
    layer.o = {plain_.data(), DType::f32, kRows, kCols};
    weights->layers.push_back(layer);
    host_ = weights;
  }

  std::vector<std::byte> bytes_;
  std::vector<float> plain_;
  std::shared_ptr<const Weights> host_;
  ThreadPool pool_{2};
};

TEST_F(PlacementTest, ExactArithmeticReadsWeightsWhereTheyLie) {
  kernels::Queue queue(pool_, kernels::Numerics::exact);
  EXPECT_EQ(place_weights(host_, queue), host_);
}

TEST_F(PlacementTest, FastProductsGetACopyAndTheEmbeddingStays) {
  if (kernels::table().interleave == nullptr) GTEST_SKIP() << "this processor's products read a file's order";
  kernels::Queue queue(pool_, kernels::Numerics::fast);
  const std::shared_ptr<const Weights> placed = place_weights(host_, queue);
  ASSERT_NE(placed, host_);
  EXPECT_EQ(placed->embedding.data, bytes_.data());
  EXPECT_FALSE(placed->embedding.interleaved);
  EXPECT_TRUE(placed->head.interleaved);
  EXPECT_NE(placed->head.data, bytes_.data());
  EXPECT_EQ(placed->layers[0].q.base.data, placed->head.data) << "what is named twice is copied once";
  EXPECT_EQ(placed->layers[0].o.data, plain_.data());
  EXPECT_FALSE(host_->head.interleaved);
}

}  // namespace
}  // namespace mplus::model
