// Gradients against differences, in double precision: several writes with drops, then reads with recall.
#include <gtest/gtest.h>

#include <functional>

#include "mplus/train/model/files/load.h"
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"
#include "tests/train/tiny_model.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kTinyStreams = 2;

struct Losses {
  Tensor text, retriever;
};

// A full memory and a store, both constant: long-term rows are, in training.
InitialMemory constant_memory(const Model& model) {
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(6);
  const std::int64_t d = model.config.hidden;
  const auto rows = [&](std::vector<std::int64_t> shape) {
    return torch::randn(shape, random, torch::kFloat64);
  };
  InitialMemory memory{.short_term = rows({model.config.layers, model.memory.N, d}), .long_term = {}};
  for (std::int64_t l = 0; l < model.config.layers; ++l)
    memory.long_term.push_back(
        {rows({5, d}), rows({5, model.memory.d_r}), torch::tensor({-9, -30, -12, -11, -20}, torch::kInt64)});
  return memory;
}

// Four writes of different lengths (one chunk under K, all with drops), one read. Every draw is the same at
// every call, so the losses are smooth functions of the weights.
Losses step(const Model& model) {
  const PassWeights writing = merge(model, Adapter::write), reading = merge(model, Adapter::read);
  StreamMemory memory(model, constant_memory(model), kTinyStreams, 0);
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(5);
  std::uint64_t seed = 10;
  for (const std::int64_t T : {6, 2, 5, 4}) {
    const auto rows = write_pass(model, writing, memory, random_tokens(model, kTinyStreams, T, seed++));
    memory.update(model, rows, memory.draw_drops(rows[0].size(1), random));
  }
  const Tensor window = random_tokens(model, kTinyStreams, 7, seed);
  const Tensor asks = prefix_weights(torch::tensor({3, 5}), 7);
  const ReadResult read = read_pass(
      model, reading,
      {.tokens = window,
       .memory = &memory,
       .recall = recall_given({torch::tensor({{1, 0, 3}, {2, 4, 0}}), torch::tensor({{3, 2, 1}, {0, 1, 2}})}),
       .keep_normed = true});
  std::vector<Tensor> right;
  for (std::int64_t m = 0; m < model.memory_layers(); ++m)
    right.push_back(memory.births(m).floor_divide(model.memory.K) == 2);
  return {next_token_loss(model, read.hidden, window),
          retriever_loss(slot_scores(model, memory, model.query, read.normed, {asks}), right) +
              retriever_loss(encoder_slot_scores(model, memory), right)};
}

// dLoss along a random direction of each tensor, by central differences and by autograd.
void expect_gradients_match(const Model& of, Tensor Losses::*which,
                            const std::function<bool(ParameterPart)>& trained) {
  Model model = of;
  for (const Parameter& p : parameters(model)) p.tensor->requires_grad_();
  (step(model).*which).backward();
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(3);
  for (const Parameter& p : parameters(model)) {
    if (!trained(p.part)) {
      EXPECT_FALSE(p.tensor->grad().defined()) << p.name << " is no part of this loss";
      continue;
    }
    const Tensor gradient = p.tensor->grad();
    ASSERT_TRUE(gradient.defined()) << p.name;
    const torch::NoGradGuard constant;
    Tensor direction = torch::randn(p.tensor->sizes(), random, torch::kFloat64);
    direction /= direction.norm();
    const Tensor middle = p.tensor->clone();
    const double h = 1e-5;
    const auto loss_at = [&](double t) {
      p.tensor->copy_(middle + t * direction);
      return (step(model).*which).item<double>();
    };
    const double difference = (loss_at(h) - loss_at(-h)) / (2 * h);
    p.tensor->copy_(middle);
    const double slope = (gradient * direction).sum().item<double>();
    // Errors of central differences: h² times the third derivative, and rounding of 1e-15 / h.
    EXPECT_NEAR(difference, slope, 1e-8 + 1e-6 * std::abs(slope)) << p.name;
    EXPECT_GT(gradient.abs().max().item<double>(), 0)
        << p.name << " has no influence: the check says nothing";
  }
}

// With a memory in both layers, and in one of them; of each family; and with a layer's widest product
// computed again.
std::vector<Model> models() {
  std::vector<Model> all;
  for (const LayerSet& layers : {LayerSet(), LayerSet({0}), LayerSet({1})})
    all.push_back(tiny_model(torch::kFloat64, 1, layers));
  for (const Family& family : {kQwen2, kQwen3}) all.push_back(tiny_model(torch::kFloat64, 1, {}, family));
  all.push_back(tiny_model(torch::kFloat64));
  all.back().spare_memory = true;
  return all;
}

TEST(TrainGradient, TextLossThroughWritesDropsAndReads) {
  for (const Model& model : models())
    expect_gradients_match(model, &Losses::text,
                           [](ParameterPart part) { return part != ParameterPart::retriever; });
}

TEST(TrainGradient, RetrieverLossReachesTheRetrieverAlone) {
  for (const Model& model : models())
    expect_gradients_match(model, &Losses::retriever,
                           [](ParameterPart part) { return part == ParameterPart::retriever; });
}

}  // namespace
}  // namespace mplus::train
