// A memory in some of the layers only: what a recipe asks for is what is trained, saved, and read by the
// engine.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>

#include "mplus/engine/session.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/train/model/files/load.h"
#include "mplus/train/model/files/new_delta.h"
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/write_pass.h"
#include "mplus/train/run/run.h"
#include "tests/io/expect_error.h"
#include "tests/train/tiny_files.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

RunOptions options_of(const TinyFiles& files, const std::string& out) {
  RunOptions options;
  options.out = files.out(out);
  options.cache = files.out("cache");
  options.device = "cpu";
  return options;
}

std::vector<std::int64_t> wide(const std::vector<io::TokenId>& ids) { return {ids.begin(), ids.end()}; }

// Two chunks written, then a text scored over them; nothing is dropped yet, so no draw is left to chance.
void expect_engine_and_trainer_agree(const fs::path& base, const fs::path& delta) {
  const std::vector<io::TokenId> first{72, 101, 256, 32, 119, 257, 114, 108, 100, 44},
      second{65, 66, 67, 258, 97, 98, 10}, text{72, 101, 256, 32, 119, 257, 65, 66};
  engine::Engine engine({.files = {.model = base, .delta = delta},
                         .threads = 1,
                         .numerics = kernels::Numerics::exact,
                         .memory = {.dtype = DType::f32},
                         .rope = {}});
  memory::Memory memory(engine.layout(), 0);
  const torch::NoGradGuard constant;
  const Model model = load_model({.model = base, .delta = delta}).model;
  const PassWeights writing = merge(model, Adapter::write), reading = merge(model, Adapter::read);
  StreamMemory streams(model, 1, 0);
  for (const auto& chunk : {first, second}) {
    const model::Injection injection{.chunk = chunk, .memory = &memory};
    model::inject(engine.workspace(), {&injection, 1});
    const auto rows = write_pass(model, writing, streams, torch::tensor(wide(chunk)).unsqueeze(0));
    streams.update(model, rows, {});
  }
  model::AttentionCache cache(engine.layout().layers, engine.workspace().kv_shape());
  const model::ReadItem item{.tokens = text, .cache = &cache, .memory = &memory};
  std::vector<float> found;
  model::read_pass(engine.workspace(), {&item, 1}, model::Adapter::read,
                   [&](std::size_t, std::int64_t, std::span<const float> row) {
                     found.insert(found.end(), row.begin(), row.end());
                   });
  const ReadResult read =
      read_pass(model, reading, {.tokens = torch::tensor(wide(text)).unsqueeze(0), .memory = &streams});
  const Tensor expected = logits(model, read.hidden).flatten();
  const Tensor mine = torch::tensor(found);
  ASSERT_EQ(mine.numel(), expected.numel());
  // Float32 through three passes of two layers: sums of at most 302 products of numbers around 1.
  EXPECT_LT((mine - expected).abs().max().item<double>(), 1e-4 * (1 + expected.abs().max().item<double>()));
  // The memory is no ornament.
  const ReadResult without = read_pass(model, reading, {.tokens = torch::tensor(wide(text)).unsqueeze(0)});
  EXPECT_GT((logits(model, without.hidden).flatten() - expected).abs().max().item<double>(), 1e-2);
}

TEST(TrainLayers, ANewDeltaHasAMemoryWhereTheRecipeSays) {
  for (const char* layers : {"0", "1"}) {
    const TinyFiles files("layers");
    RunConfig config = load_run_config(files.recipe(12));
    config.memory.layers = *LayerSet::parse(layers);
    config.stages.at(1).retriever.vector = 0.5;
    const RunOptions options = options_of(files, "run");
    ASSERT_EQ(run(config, options), RunEnd::finished);
    const fs::path delta = options.out / "delta.safetensors";
    const io::Safetensors file = io::Safetensors::open(delta);
    EXPECT_EQ(file.metadata().at("memory_layers"), layers);
    EXPECT_EQ(file.at("vote_weights").shape, std::vector<std::int64_t>{1});
    EXPECT_EQ(file.at("vector_pool").shape, (std::vector<std::int64_t>{1, 16}));
    for (const char* layer : {"0", "1"})
      EXPECT_EQ(file.find(fmt::format("model.layers.{}.self_attn.key_proj.0.weight", layer)) != nullptr,
                std::string_view(layer) == layers);
    expect_engine_and_trainer_agree(files.base(), delta);
  }
}

TEST(TrainLayers, ARunMayKeepSomeOfADeltasLayers) {
  const TinyFiles files("kept");
  const RunOptions all = options_of(files, "all");
  ASSERT_EQ(run(load_run_config(files.recipe(6)), all), RunEnd::finished);
  expect_engine_and_trainer_agree(files.base(), all.out / "delta.safetensors");
  RunConfig config = load_run_config(files.recipe(6));
  config.delta = all.out / "delta.safetensors";
  config.memory.layers = LayerSet({1});
  const RunOptions some = options_of(files, "some");
  ASSERT_EQ(run(config, some), RunEnd::finished);
  expect_engine_and_trainer_agree(files.base(), some.out / "delta.safetensors");
  // It has lost the other layer's for good.
  config.delta = some.out / "delta.safetensors";
  config.memory.layers = LayerSet({0});
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("layers 0", "in layers 1 only"),
                     run(config, options_of(files, "more")));
  config.memory.layers = LayerSet({1, 2});
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("layers 1-2", "layers 0 to 1"),
                     run(config, options_of(files, "more")));
}

TEST(TrainLayers, KeptOnesStayAsTheyWere) {
  Model model = tiny_model(torch::kFloat32);
  model.vote_weights = torch::tensor({0.25f, 4.0f});
  const Model before = model;
  keep_layers(model, LayerSet({1}));
  EXPECT_EQ(model.memory_layers(), 1);
  EXPECT_TRUE(torch::equal(model.vote_weights, torch::tensor({4.0f})));
  EXPECT_TRUE(torch::equal(model.query.first[0], before.query.first[1]));
  EXPECT_TRUE(torch::equal(model.key.second[0], before.key.second[1]));
  EXPECT_TRUE(torch::equal(model.base.q, before.base.q));
  EXPECT_EQ(model.write.q.a.size(0), 2);  // adapters work in all layers
  Model same = before;
  keep_layers(same, LayerSet({0, 1}));
  EXPECT_TRUE(same.memory.layers.is_all());
}

}  // namespace
}  // namespace mplus::train
