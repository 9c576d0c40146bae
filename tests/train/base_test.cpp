// Runs that train the base's own weights: the folder they leave is what engine and trainer load, and what was
// trained is in the checkpoints.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>

#include "mplus/core/files/file.h"
#include "mplus/engine/session.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/train/model/files/load.h"
#include "mplus/train/model/files/save_base.h"
#include "mplus/train/model/losses.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/run/run.h"
#include "tests/train/run/stop_at.h"
#include "tests/train/tiny_files.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

const std::vector<io::TokenId> kText{72, 101, 256, 32, 119, 257, 114, 108, 100, 44, 258, 97, 98, 10, 301, 65};

std::vector<double> engine_nll(const fs::path& model, const std::optional<fs::path>& delta) {
  engine::Engine engine({.files = {.model = model, .delta = delta},
                         .threads = 1,
                         .numerics = kernels::Numerics::exact,
                         .memory = {.dtype = DType::f32},
                         .rope = {}});
  return engine::Session(engine).score(kText).nll;
}

std::vector<double> trainer_nll(const Model& model) {
  const torch::NoGradGuard constant;
  const Tensor tokens = torch::tensor(std::vector<std::int64_t>(kText.begin(), kText.end())).unsqueeze(0);
  const auto n = static_cast<std::int64_t>(kText.size());
  const ReadResult read = read_pass(model, merge(model, Adapter::read), {.tokens = tokens});
  const Tensor nll = token_nll(model, read.hidden.narrow(1, 0, n - 1), tokens.narrow(1, 1, n - 1))[0];
  std::vector<double> values;
  for (std::int64_t i = 0; i < n - 1; ++i) values.push_back(nll[i].item<double>());
  return values;
}

void expect_close(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  // Float32 through two layers: sums of at most 302 products of numbers around 1.
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * (1 + std::abs(a[i]))) << i;
}

// Its first stage trains the base, its second only the retriever, with one vector a chunk.
RunConfig config_of(const TinyFiles& files) {
  RunConfig config = load_run_config(files.recipe(12));
  config.model = files.base_as_gguf();
  config.stages.at(0).rates.base = 1e-2;
  config.stages.at(1).steps = 60;  // time enough to be stopped in
  config.stages.at(1).retriever.vector = 0.5;
  return config;
}

RunOptions options_of(const TinyFiles& files, const std::string& out) {
  RunOptions options;
  options.out = files.out(out);
  options.cache = files.out("cache");
  options.device = "cpu";
  options.report_steps = 1;
  options.base_dtype = DType::f32;
  return options;
}

std::string bytes(const fs::path& file) { return read_text_file(file); }

TEST(TrainBase, AGgufSavedAsAFolderReadsTheSame) {
  const TinyFiles files("base-gguf");
  const fs::path gguf = files.base_as_gguf();
  Model model = load_model({.model = gguf, .delta = {}}).model;
  save_base(model, gguf, files.out("f32"), DType::f32);
  save_base(model, gguf, files.out("bf16"), DType::bf16);
  expect_close(engine_nll(gguf, {}), engine_nll(files.out("f32"), {}));
  expect_close(engine_nll(files.base(), {}), engine_nll(files.out("f32"), {}));
  Model rounded = load_model({.model = files.out("bf16"), .delta = {}}).model;
  const std::vector<Parameter> before = parameters(model), after = parameters(rounded);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(torch::equal(before[i].tensor->to(torch::kBFloat16).to(torch::kFloat32), *after[i].tensor))
        << before[i].name;
}

TEST(TrainBase, EngineAndTrainerLoadWhatARunMadeOfIt) {
  const TinyFiles files("base-run");
  const RunOptions options = options_of(files, "run");
  ASSERT_EQ(run(config_of(files), options), RunEnd::finished);
  const fs::path base = options.out / "base", delta = options.out / "delta.safetensors";
  Model model = load_model({.model = base, .delta = delta}).model;
  expect_close(trainer_nll(model), engine_nll(base, delta));
  // The weights are those of the checkpoint, to the last bit, and no longer those it began with.
  const io::Safetensors checkpoint = io::Safetensors::open(options.out / "checkpoint.safetensors");
  Model begun = load_model({.model = files.base(), .delta = {}}).model;
  const std::vector<Parameter> began = parameters(begun);
  std::size_t i = 0;
  for (const Parameter& p : parameters(model)) {
    if (p.part != ParameterPart::base) continue;
    const io::Tensor& saved = checkpoint.at(p.name);
    ASSERT_EQ(saved.bytes.size(), p.tensor->nbytes()) << p.name;
    EXPECT_EQ(std::memcmp(saved.bytes.data(), p.tensor->const_data_ptr(), saved.bytes.size()), 0) << p.name;
    EXPECT_EQ(began.at(i).name, p.name);
    EXPECT_FALSE(torch::equal(*began.at(i++).tensor, *p.tensor)) << p.name;
  }
  const io::Safetensors file = io::Safetensors::open(delta);
  EXPECT_EQ(file.metadata().at("base"), "trained along, from base.gguf");
  EXPECT_EQ(file.metadata().at("base_sha256").size(), 64u);
  EXPECT_TRUE(file.find("vector_pool"));
}

TEST(TrainBase, AStopInAnyStageChangesNothing) {
  const TinyFiles files("base-stop");
  const RunConfig config = config_of(files);
  const RunOptions straight = options_of(files, "straight");
  ASSERT_EQ(run(config, straight), RunEnd::finished);
  const auto expect_same = [&](const RunOptions& options) {
    ASSERT_EQ(run(config, options), RunEnd::finished);
    for (const char* file : {"base/model.safetensors", "delta.safetensors"})
      EXPECT_TRUE(bytes(straight.out / file) == bytes(options.out / file)) << options.out << ' ' << file;
  };
  for (const char* text : {"\"step\":4,", "found_first"}) {
    RunOptions options = options_of(files, fmt::format("stopped-{}", std::string_view(text).size()));
    {
      RunOptions stopping = options;
      const StopAt stop(stopping, text);
      ASSERT_EQ(run(config, stopping), RunEnd::stopped) << text;
      EXPECT_TRUE(fs::exists(options.out / "base/model.safetensors"));
    }
    expect_same(options);
  }
  // Between the stages.
  const RunOptions options = options_of(files, "between");
  RunConfig first = config;
  first.stages.resize(1);
  ASSERT_EQ(run(first, options), RunEnd::finished);
  expect_same(options);
}

}  // namespace
}  // namespace mplus::train
