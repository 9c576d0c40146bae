// Steps of training on a tiny model: the optimizer against its equations, a loss that falls, a run that goes
// on after a stop as if it had not stopped.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/train/model/files/new_delta.h"
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"
#include "mplus/train/run/files/checkpoint.h"
#include "tests/train/tiny_model.h"

namespace mplus::train {
namespace {

constexpr LearningRates kRates{.base = 1e-2, .adapter = 1e-2, .vectors = 1e-2, .retriever = 1e-2};
constexpr std::int64_t kNames = 8;  // tokens below are names, the others values

// Memory emptied, one or two chunks "name name name value value value" written with gradient; the reader is
// given the name of one of them, in turn, and must say the value.
class TinyRun {
 public:
  TinyRun() : optimizer_(trained_tensors(model_, kRates)) {}

  double step() {
    generator_.set_current_seed(static_cast<std::uint64_t>(progress_.step));
    const std::int64_t n = 1 + progress_.step % 2, asked = progress_.step / 2 % n;
    const PassWeights writing = merge(model_, Adapter::write), reading = merge(model_, Adapter::read);
    StreamMemory memory(model_, kStreams, 100);
    Tensor window;
    for (std::int64_t i = 0; i < n; ++i) {
      const Tensor name = draw(0, kNames), value = draw(kNames, model_.config.vocab);  // [B, 1]
      const Tensor chunk = torch::cat({name, name, name, value, value, value}, 1);
      if (i == asked) window = torch::cat({name, value}, 1);
      const auto rows = write_pass(model_, writing, memory, chunk);
      memory.update(model_, rows, memory.draw_drops(rows[0].size(1), generator_));
    }
    const ReadResult read =
        read_pass(model_, reading, {.tokens = window, .memory = &memory, .keep_normed = true});
    std::vector<Tensor> right;
    for (std::int64_t l = 0; l < model_.config.layers; ++l)
      right.push_back(memory.births(l).floor_divide(model_.memory.K) == asked);
    const Tensor asks = prefix_weights(torch::full({kStreams}, 1), window.size(1));
    const Tensor text = next_token_loss(model_, read.hidden, window);
    const Tensor retrieval =
        retriever_loss(slot_scores(model_, memory, model_.query, read.normed, {asks}), right);
    (text + retrieval).backward();
    optimizer_.clip(1.0);
    optimizer_.step(schedule_factor(progress_.step, 5, 0, 0.1));
    ++progress_.step;
    return text.item<double>();
  }
  double mean_of_steps(int count) {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += step();
    return sum / count;
  }
  void save(const std::filesystem::path& file) { save_checkpoint(file, model_, optimizer_, progress_); }
  void load(const std::filesystem::path& file) { progress_ = load_checkpoint(file, model_, optimizer_); }

 private:
  static constexpr std::int64_t kStreams = 16;
  Tensor draw(std::int64_t from, std::int64_t below) {
    return torch::randint(from, below, {kStreams, 1}, generator_, torch::kInt64);
  }

  Model model_ = tiny_model(torch::kFloat32);
  AdamW optimizer_;
  at::Generator generator_ = at::make_generator<at::CPUGeneratorImpl>(2);
  Progress progress_;
};

TEST(TrainRun, LossFallsBecauseTheMemoryIsRead) {
  TinyRun run;
  const double first = run.mean_of_steps(10);
  run.mean_of_steps(260);
  const double last = run.mean_of_steps(20);
  // Values are drawn uniformly from 9: without the memory no reader gets below ln 9 = 2.20.
  EXPECT_GT(first, 2.2);
  EXPECT_LT(last, 1.5);
}

TEST(TrainRun, ResumedRunHasTheSameLosses) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "resume.safetensors";
  TinyRun straight;
  straight.mean_of_steps(4);
  straight.save(file);
  TinyRun resumed;
  resumed.load(file);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(straight.step(), resumed.step()) << "step " << i << " after the stop";
  std::filesystem::remove(file);
}

// The state between two stages, the first of which trained the base and one vector a chunk.
TEST(TrainRun, WhatAnEarlierStageTrainedStaysInTheCheckpoint) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "stages.safetensors";
  Model first = tiny_model(torch::kFloat32);
  first.vector_pool = torch::randn({2, 12});
  first.vote_weights = torch::rand({2});
  trained_tensors(first, kRates);
  {
    const torch::NoGradGuard constant;
    first.base.down += 1;
  }
  AdamW none{{}};
  save_checkpoint(file, first, none, {.stage = 1});
  Model second = tiny_model(torch::kFloat32);
  match_parts(file, second);
  load_checkpoint(file, second, none);
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_TRUE(second.base_trained);
    EXPECT_TRUE(torch::equal(first.base.down, second.base.down)) << stage;
    EXPECT_TRUE(torch::equal(first.vector_pool, second.vector_pool)) << stage;
    EXPECT_TRUE(torch::equal(first.vote_weights, second.vote_weights)) << stage;
    // The second stage trains neither, and stops.
    AdamW adapters(trained_tensors(second, {.adapter = 1e-3}));
    save_checkpoint(file, second, adapters, {.stage = 1, .step = 1});
    second = tiny_model(torch::kFloat32);
    match_parts(file, second);
    AdamW resumed(trained_tensors(second, {.adapter = 1e-3}));
    load_checkpoint(file, second, resumed);
  }
  Model plain = tiny_model(torch::kFloat32);
  save_checkpoint(file, plain, none, {});
  match_parts(file, second);
  EXPECT_FALSE(second.base_trained || second.vector_pool.defined() || second.vote_weights.defined());
  std::filesystem::remove(file);
}

TEST(TrainRun, CheckpointOfOtherPartsIsRefused) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "parts.safetensors";
  Model model = tiny_model(torch::kFloat32);
  AdamW retriever(trained_tensors(model, {.retriever = 1e-3}));
  save_checkpoint(file, model, retriever, {});
  AdamW adapters(trained_tensors(model, {.adapter = 1e-3}));
  EXPECT_THROW(load_checkpoint(file, model, adapters), Error);
  AdamW vectors_too(trained_tensors(model, {.vectors = 1e-3, .retriever = 1e-3}));
  EXPECT_THROW(load_checkpoint(file, model, vectors_too), Error);
  std::filesystem::remove(file);
}

TEST(TrainRun, ANewDeltaReadsAsItsBaseDoes) {
  Model model = tiny_model(torch::kFloat64);
  const io::MemoryConfig sizes = model.memory;
  model.memory = {};
  model.bos = model.positional = Tensor();
  model.config.bos_id = 3;
  begin_delta(model, sizes, 1);
  const torch::NoGradGuard constant;
  const Tensor tokens = random_tokens(model, 2, 6, 5);
  const PassWeights base = merge(model, Adapter::none);
  // The base over its own first token and the text, with nothing of ours.
  Tensor x = torch::embedding(model.base.embedding, torch::cat({torch::full({2, 1}, 3), tokens}, 1));
  for (const LayerWeights& w : base.layers) x = decoder_layer(w, model.config, x, {}, *model.rope).y;
  const ReadResult read = read_pass(model, merge(model, Adapter::read), {.tokens = tokens});
  EXPECT_LT((read.hidden - x.narrow(1, 1, 6)).abs().max().item<double>(), 1e-12);
}

TEST(TrainOptimizer, StepsAreThoseOfAdamW) {
  const AdamWOptions o{.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .weight_decay = 0.1};
  const Tensor x = torch::tensor({1.0, -2.0, 0.5}, torch::kFloat64).requires_grad_();
  AdamW optimizer(std::vector<Trained>{{"x", x, 0.01}}, o);
  double value[3] = {1.0, -2.0, 0.5}, m[3] = {}, v[3] = {};
  for (int t = 1; t <= 5; ++t) {
    const double factor = schedule_factor(t, 3, 0.2, 0.1), rate = 0.01 * factor;
    (x * x * x).sum().backward();
    optimizer.step(factor);
    for (int i = 0; i < 3; ++i) {
      const double g = 3 * value[i] * value[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
      value[i] -= rate * o.weight_decay * value[i];
      value[i] -= rate * (m[i] / (1 - std::pow(o.beta1, t))) /
                  (std::sqrt(v[i] / (1 - std::pow(o.beta2, t))) + o.epsilon);
      EXPECT_NEAR(x[i].item<double>(), value[i], 1e-7) << "step " << t;
    }
    EXPECT_FALSE(x.grad().defined());
  }
}

TEST(TrainOptimizer, ClippingKeepsTheDirection) {
  const Tensor x = torch::tensor({3.0, 4.0}).requires_grad_();
  AdamW optimizer(std::vector<Trained>{{"x", x, 0.01}});
  (x * x).sum().backward();  // gradient 6, 8
  EXPECT_NEAR(optimizer.clip(1.0).item<double>(), 10, 1e-5);
  EXPECT_TRUE(torch::allclose(x.grad(), torch::tensor({0.6, 0.8}), 1e-5));
  EXPECT_NEAR(optimizer.clip(5.0).item<double>(), 1, 1e-5);
  EXPECT_TRUE(torch::allclose(x.grad(), torch::tensor({0.6, 0.8}), 1e-5)) << "short gradients stay";
}

TEST(TrainOptimizer, ScheduleWarmsUpAndComesDown) {
  EXPECT_DOUBLE_EQ(schedule_factor(0, 10, 0, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(schedule_factor(9, 10, 0, 0.1), 1.0);
  EXPECT_DOUBLE_EQ(schedule_factor(100, 10, 0.5, 0.1), 0.55);
  EXPECT_DOUBLE_EQ(schedule_factor(100, 10, 1, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(schedule_factor(100, 0, 2, 0.1), 0.1);
}

}  // namespace
}  // namespace mplus::train
