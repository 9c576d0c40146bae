// One vector a chunk in the trainer: the cosines are those that the engine recalls by, and their gradients
// are right.
#include <gtest/gtest.h>

#include "mplus/core/thread_pool.h"
#include "mplus/memory/recall/rules/rules.h"
#include "mplus/model/files/load.h"
#include "mplus/model/files/save.h"
#include "mplus/model/initial_memory.h"
#include "mplus/model/passes/read_pass.h"
#include "mplus/train/model/files/load.h"
#include "mplus/train/model/files/new_delta.h"
#include "mplus/train/model/files/save_delta.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/retriever/loss.h"
#include "mplus/train/run/run_config.h"
#include "tests/train/tiny_files.h"

namespace mplus::train {
namespace {

// A long-term store of the engine with the given keys, [L] of [chunks·K, d_r], chunk after chunk.
memory::Memory memory_of(const memory::Layout& layout, const std::vector<Tensor>& keys) {
  memory::Memory memory(layout, 0);
  auto rows = std::make_shared<std::vector<memory::Rows>>();
  rows->reserve(keys.size());
  std::vector<memory::RowsView> views;
  std::vector<std::int64_t> counts;
  for (const Tensor& layer : keys) {
    const Tensor values = layer.contiguous();
    memory::Rows& stored = rows->emplace_back(layout, values.size(0));
    const std::vector<float> other(static_cast<std::size_t>(std::max(layout.hidden, layout.kv)));
    for (std::int64_t row = 0; row < values.size(0); ++row)
      stored.append(layout,
                    memory::NewRows{other.data(), other.data(), other.data(),
                                    values.const_data_ptr<float>() + row * layout.retriever, 1},
                    row);
    views.push_back(stored.view());
    counts.push_back(views.back().n);
  }
  memory::LongTermStore store(layout);
  store.adopt(std::make_shared<memory::Segment>(std::move(views), std::move(rows)), counts);
  memory.load_long_term(std::move(store));
  memory.set_updates(keys.at(0).size(0) / layout.K);
  return memory;
}

// A delta begun on the tiny base, with a vector_pool.
std::filesystem::path write_delta(const TinyFiles& files, at::Generator random) {
  Model model = load_model({.model = files.base(), .delta = {}}).model;
  begin_delta(model, load_run_config(files.recipe(1)).memory, 3);
  model.vector_pool = torch::randn({2, 16}, random, torch::kFloat32);
  const std::filesystem::path file = files.out("delta.safetensors");
  save_delta(model, file, {});
  return file;
}

TEST(TrainVector, CosinesAreThoseTheEngineRecallsBy) {
  const torch::NoGradGuard constant;
  const TinyFiles files("vector");
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(4);
  const std::filesystem::path delta = write_delta(files, random);
  const Model model = load_model({.model = files.base(), .delta = delta}).model;
  ASSERT_TRUE(model.vector_pool.defined());
  const std::int64_t L = model.config.layers, d = model.config.hidden, K = model.memory.K, chunks = 9;
  // A question of 7 tokens of which the third to the sixth ask.
  const std::vector<io::TokenId> question{72, 101, 108, 108, 111, 63, 10};
  const Tensor tokens =
      torch::tensor(std::vector<std::int64_t>(question.begin(), question.end())).unsqueeze(0);
  const Tensor asks = torch::tensor({{0.0f, 0.0f, 0.25f, 0.25f, 0.25f, 0.25f, 0.0f}});
  const ReadResult read =
      read_pass(model, merge(model, Adapter::read), {.tokens = tokens, .keep_normed = true});
  const Tensor states = torch::stack(read.normed);  // [L, 1, T, d]
  const Tensor rows = torch::randn({L, chunks * K, d}, random, torch::kFloat32);
  const Projected projected = project_all(model, states, rows);
  const Tensor cosines = vector_cosines(model, projected, states, asks, K)[0];

  const auto weights = model::load_weights({.model = files.base(), .delta = delta});
  ThreadPool threads(1);
  kernels::Queue queue(threads, kernels::Numerics::exact);
  model::Workspace workspace(weights, queue);
  const memory::Layout layout = model::memory_layout(*weights, {.dtype = DType::f32});
  const memory::Memory memory = memory_of(layout, projected.keys);
  model::AttentionCache cache(L, workspace.kv_shape());
  const model::ScoutStates scout = model::scout_pass(
      workspace, {.tokens = question, .cache = &cache, .memory = &memory, .scouts_begin = 2, .scouts_end = 6},
      model::Adapter::read);
  const memory::Votes votes = memory::vector_votes(memory, scout.layers);
  ASSERT_EQ(std::ssize(votes.chunks), chunks);
  for (std::int64_t c = 0; c < chunks; ++c) {
    EXPECT_EQ(votes.chunks[static_cast<std::size_t>(c)], c);
    EXPECT_NEAR(votes.votes[static_cast<std::size_t>(c)], cosines[c].item<double>(), 1e-5);
  }
  EXPECT_GT((cosines.max() - cosines.min()).item<double>(), 0.1) << "else they say nothing";
}

TEST(TrainVector, RoundedRowsOfADeltaLeaveItAsItIs) {
  const TinyFiles files("vector-int8");
  const std::filesystem::path delta = write_delta(files, at::make_generator<at::CPUGeneratorImpl>(4));
  const std::filesystem::path rounded = files.out("int8.safetensors");
  model::convert_delta(delta, rounded, DType::i8);
  const Model before = load_model({.model = files.base(), .delta = delta}).model;
  const Model after = load_model({.model = files.base(), .delta = rounded}).model;
  EXPECT_TRUE(torch::equal(before.vector_pool, after.vector_pool));
  const auto weights = model::load_weights({.model = files.base(), .delta = rounded});
  ASSERT_TRUE(weights->has_vector_pool);
  EXPECT_EQ(std::memcmp(weights->layers.front().pool.data, before.vector_pool.const_data_ptr(),
                        before.vector_pool.nbytes()),
            0);
}

// A round of random states: 4 questions on 6 chunks.
RetrieverCache random_cache(const Model& model) {
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(5);
  const std::int64_t L = model.config.layers, d = model.config.hidden;
  RetrieverCache cache;
  cache.rows = torch::randn({L, 6 * model.memory.K, d}, random, torch::kFloat64);
  cache.states = torch::randn({L, 4, 5, d}, random, torch::kFloat64);
  cache.asks =
      torch::tensor({{0., .5, .5, 0., 0.}, {1., 0., 0., 0., 0.}, {.2, .2, .2, .2, .2}, {0., 0., 0., .5, .5}},
                    torch::kFloat64);
  cache.place = {0, 1, 2, 3};
  cache.chunk = {0, 2, 5, 2};
  cache.kind.assign(6, ChunkKind::facts);
  return cache;
}

double loss_of(const Model& model, const RetrieverStageOptions& options, const RetrieverFactors& factors,
               RetrieverLoss* out = nullptr) {
  const RetrieverCache cache = random_cache(model);
  const RetrieverBatch batch{.questions = {0, 1, 2, 3}, .candidates = {0, 2, 5, 1, 3}, .right = {0, 1, 2, 1}};
  Random draw(1, {});
  const RetrieverLoss result = retriever_batch_loss(model, cache, batch, options, factors, draw);
  if (out) *out = result;
  return result.loss.item<double>();
}

TEST(TrainVector, GradientsAreThoseOfTheLoss) {
  Model model = tiny_model(torch::kFloat64);
  model.vector_pool = torch::randn({2, 12}, torch::kFloat64);
  const RetrieverStageOptions options{.rows = 3, .vote_top = 2, .vector = 0.7};
  RetrieverFactors factors(model, options);
  for (Tensor* tensor : {&factors.layers, &factors.votes, &factors.vector})
    *tensor = tensor->detach().to(torch::kFloat64).requires_grad_();
  const std::vector<std::pair<const char*, Tensor*>> tensors{{"vector_pool", &model.vector_pool},
                                                             {"query", &model.query.first},
                                                             {"key", &model.key.second},
                                                             {"temperature", &factors.vector}};
  for (const auto& [name, tensor] : tensors) tensor->requires_grad_();
  RetrieverLoss result;
  loss_of(model, options, factors, &result);
  result.loss.backward();
  EXPECT_EQ(result.found_by_vector.size(0), 4);
  for (const auto& [name, tensor] : tensors) {
    const Tensor gradient = tensor->grad().flatten();
    const torch::NoGradGuard constant;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(5, gradient.size(0)); ++i) {
      Tensor value = tensor->view({-1})[i];
      constexpr double kStep = 1e-6;
      value += kStep;
      const double above = loss_of(model, options, factors);
      value -= 2 * kStep;
      const double below = loss_of(model, options, factors);
      value += kStep;
      EXPECT_NEAR((above - below) / (2 * kStep), gradient[i].item<double>(), 1e-6) << name << ' ' << i;
    }
  }
}

TEST(TrainVector, WithoutAWeightNothingOfItIsComputed) {
  const Model model = tiny_model(torch::kFloat64);  // has no vector_pool
  const RetrieverStageOptions options{.rows = 3, .vote_top = 2};
  RetrieverLoss result;
  loss_of(model, options, RetrieverFactors(model, options), &result);
  EXPECT_FALSE(result.found_by_vector.defined());
  EXPECT_TRUE(result.found.defined());
}

}  // namespace
}  // namespace mplus::train
