// Heads of the retriever that can learn (train/retriever/conditioning.h): inputs evened out, steps that go by
// them, layers begun again.
#include "mplus/train/retriever/conditioning.h"

#include <gtest/gtest.h>

#include "mplus/train/run/stages/optimizer.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kLayers = 2, kWidth = 24, kHead = 6, kRows = 400, kPlaces = 50, kTokens = 8;

// States that are long, and much alike: what a wide base gives.
Tensor alike(std::vector<std::int64_t> shape) {
  shape.push_back(kWidth);
  return 20 + torch::randn(shape) * torch::linspace(0.2, 3, kWidth);
}

RetrieverCache some_round() {
  RetrieverCache cache;
  cache.rows = alike({kLayers, kRows});
  cache.states = alike({kLayers, kPlaces, kTokens});
  cache.asks = torch::full({kPlaces, kTokens}, 1.0 / 4);
  cache.asks.narrow(1, 4, 4).zero_();  // nobody asks with these
  cache.states.narrow(2, 4, 4).fill_(1e6);
  return cache;
}

Model some_heads() {
  Model model;
  for (RetrieverHead* head : {&model.query, &model.key}) {
    head->first = torch::randn({kLayers, 2 * kHead, kWidth});
    head->second = torch::randn({kLayers, kHead, 2 * kHead});
  }
  return model;
}

Tensor products(const Model& model, const RetrieverCache& cache, std::int64_t layer) {
  const Tensor asking = cache.states[layer].narrow(1, 0, 4).flatten(0, 1);
  return torch::matmul(project(model.query, layer, asking), project(model.key, layer, cache.rows[layer]).t());
}

TEST(TrainConditioning, EvenedInputsAreNoLongerAlike) {
  torch::manual_seed(1);
  const RetrieverCache cache = some_round();
  const EvenedInputs evened = even_inputs(cache);
  for (std::int64_t m = 0; m < kLayers; ++m) {
    EXPECT_TRUE(torch::allclose(evened.key[m], evened.key[m].t(), 1e-4, 1e-5));
    const Tensor before = cache.rows[m], after = torch::matmul(before, evened.key[m]);
    const auto share_of_the_longest = [](const Tensor& x) {
      const Tensor lengths = std::get<0>(torch::linalg_eigh(torch::matmul(x.t(), x), "L"));
      return (lengths[-1] / lengths.sum()).item<double>();
    };
    EXPECT_GT(share_of_the_longest(before), 0.9);
    EXPECT_LT(share_of_the_longest(after), 0.1);
    EXPECT_LT(torch::matmul(cache.states[m].narrow(1, 0, 4), evened.query[m]).square().mean().item<double>(),
              1);
  }
}

TEST(TrainConditioning, LayersBegunAgainTellRowsApart) {
  torch::manual_seed(2);
  const RetrieverCache cache = some_round();
  Model model = some_heads();
  const Tensor kept = model.query.first[0].clone();
  EXPECT_GT(products(model, cache, 1).abs().mean().item<double>(), 1000);  // the sigmoid is flat there
  renew_layers(model, cache, even_inputs(cache), {1}, 7);
  const Tensor p = products(model, cache, 1);
  EXPECT_NEAR(p.std().item<double>(), 1, 0.05);
  EXPECT_LT(p.mean().abs().item<double>(), 3);
  const Tensor x = cache.rows[1];
  EXPECT_TRUE(torch::allclose(project(model.key, 1, -x), -project(model.key, 1, x), 1e-3, 1e-3));
  EXPECT_TRUE(torch::equal(model.query.first[0], kept));
}

// Steps of W by evened inputs P are those of Z in W + Z·P.
TEST(TrainConditioning, StepsGoByEvenedInputs) {
  torch::manual_seed(3);
  const Tensor half = torch::randn({1, 4, 4}), P = half + half.transpose(1, 2);
  const Tensor start = torch::randn({1, 3, 4}), target = torch::randn({1, 3, 4});
  Tensor w = start.clone().requires_grad_(), z = torch::zeros({1, 3, 4}).requires_grad_();
  AdamW by_inputs(std::vector<Trained>{{"w", w, 0.01}}), plain(std::vector<Trained>{{"z", z, 0.01}});
  by_inputs.even_inputs(w, P);
  for (int step = 0; step < 5; ++step) {
    (w - target).square().sum().backward();
    (start + torch::matmul(z, P) - target).square().sum().backward();
    for (AdamW* optimizer : {&by_inputs, &plain}) {
      optimizer->sum_gradients();
      optimizer->clip(1.0);
      optimizer->step(1.0);
    }
    EXPECT_TRUE(torch::allclose(w, start + torch::matmul(z, P), 1e-5, 1e-6)) << "step " << step;
  }
  EXPECT_FALSE(torch::allclose(w, start));
}

}  // namespace
}  // namespace mplus::train
