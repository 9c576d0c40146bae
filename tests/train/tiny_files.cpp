#include "tiny_files.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "../io/tokenizer_fixtures.h"
#include "mplus/io/safetensors.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

void write_base(const fs::path& folder) {
  Model model;
  model.config = {.architecture = "llama",
                  .layers = 2,
                  .hidden = 16,
                  .heads = 4,
                  .kv_heads = 2,
                  .head_size = 4,
                  .ffn = 24,
                  .vocab = 302,
                  .context = 2048,
                  .norm_epsilon = 1e-5f,
                  .rope_theta = 10000,
                  .rope_scaling = {},
                  .tied_embeddings = true,
                  .eos_ids = {300},
                  .bos_id = 300};
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(1);
  std::vector<Tensor> kept;
  std::vector<io::TensorData> tensors;
  for (const Parameter& p : parameters(model))
    for (std::int64_t l = 0; l < (p.stacked ? model.config.layers : 1); ++l) {
      Tensor values = 0.2 * torch::randn(p.shape, random, torch::kFloat32);
      if (p.name.find("norm") != p.name.npos) values += 1;
      kept.push_back(values);
      tensors.push_back({p.stacked ? p.layer_name(l) : p.name,
                         DType::f32,
                         p.shape,
                         {static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()}});
    }
  fs::create_directories(folder);
  io::write_safetensors(folder / "model.safetensors", tensors, {});
  std::ofstream(folder / "config.json") << io::hf_config_json(model.config, "float32");
  std::ofstream(folder / "tokenizer.json") << io::test::TinyTokenizer().json();
}

void write_data(const fs::path& folder) {
  std::ofstream text(folder / "text.jsonl"), questions(folder / "questions.jsonl");
  for (int document = 0; document < 12; ++document) {
    text << R"({"text": ")";
    for (int i = 0; i < 150; ++i) text << "word" << (document * 37 + i * i) % 211 << ' ';
    text << "\"}\n";
    questions << fmt::format(
        "{{\"question\": \"Which shade has box {0}?\", \"answers\": [\"tone{1}\"], \"context\": \"Of the "
        "boxes in the "
        "hall, number {0} has the shade tone{1}.\"}}\n",
        document, document * 7 % 12);
  }
}

}  // namespace

TinyFiles::TinyFiles(const std::string& name)
    : folder_(fs::path(testing::TempDir()) / fmt::format("{}-{}", name, getpid())) {
  fs::remove_all(folder_);
  write_base(folder_ / "base");
  write_data(folder_);
}

TinyFiles::~TinyFiles() { fs::remove_all(folder_); }

fs::path TinyFiles::recipe(std::int64_t steps, const std::string& change) const {
  const fs::path file = folder_ / fmt::format("recipe-{}{}.toml", steps, change.empty() ? "" : "-changed");
  std::ofstream(file) << fmt::format(R"(
model = "base"
[memory]
K = 8
N = 20
K0 = 8
C = 96
W = 128
d_r = 4
rank = 4
alpha = 8
[[text]]
file = "text.jsonl"
[[questions]]
file = "questions.jsonl"
[[stage]]
name = "lessons"
steps = {}
streams = 5
window = 128
reads = 2
steps_of = {{ plain = 0.1, context = 0.2, fresh = 0.3, live = 0.4 }}
kinds = {{ facts = 0.4, passage = 0.3, text = 0.3 }}
chunks = [[0.0, 3]]
lives = [4, 6]
store = 40
retriever_loss = 0.1
learning_rate = {{ adapter = 1e-2, vectors = 1e-2, retriever = 1e-2 }}
warm_up = 3
{}
[[stage]]
name = "retriever"
kind = "retriever"
steps = 4
streams = 3
kinds = {{ facts = 0.6, passage = 0.4 }}
rounds = 2
updates = 4
questions = 2
asked_at_once = 7
others = 3
rows = 4
vote_top = 4
)",
                                     steps, change);
  return file;
}

}  // namespace mplus::train
