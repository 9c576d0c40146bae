#include "tests/train/tiny_files.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "mplus/io/gguf/gguf_names.h"
#include "mplus/io/tokenizer/tokenizer_spec.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/train/lessons/token_data.h"
#include "mplus/train/model/files/load.h"
#include "tests/io/file_bytes.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

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
    for (std::size_t l = 0; l < std::max<std::size_t>(1, p.layers.size()); ++l) {
      Tensor values = 0.2 * torch::randn(p.shape, random, torch::kFloat32);
      if (p.name.find("norm") != p.name.npos) values += 1;
      kept.push_back(values);
      tensors.push_back({p.stacked() ? p.layer_name(l) : p.name,
                         DType::f32,
                         p.shape,
                         {static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()}});
    }
  fs::create_directories(folder);
  io::write_safetensors(folder / "model.safetensors", tensors, {});
  std::ofstream(folder / "config.json") << io::hf_config_json(model.config, "float32");
  std::ofstream(folder / "tokenizer.json") << io::test::TinyTokenizer().json();
}

// With dots behind it, so that it belongs to the part that is held out.
std::string held(std::string text) {
  while (!held_out(text)) text += '.';
  return text;
}

void write_data(const fs::path& folder) {
  std::ofstream text(folder / "text.jsonl"), questions(folder / "questions.jsonl");
  text << fmt::format("{{\"text\": \"{}\"}}\n",
                      held("A text that nobody is trained on tells of a red lamp in the tower"));
  questions << fmt::format(
      "{{\"question\": \"Which shade has the lamp?\", \"answers\": [\"red\"], \"context\": \"{}\"}}\n",
      held("The lamp in the tower has the shade red"));
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

fs::path TinyFiles::base_as_gguf() const {
  const Model model = load_model({.model = base(), .delta = {}}).model;
  const io::ModelConfig& c = model.config;
  const io::TokenizerSpec spec = io::read_tokenizer_json(io::test::TinyTokenizer().json(), "tiny.json");
  io::test::GgufBuilder file;
  const auto number = [](std::int64_t n) { return static_cast<std::uint32_t>(n); };
  file.text("general.architecture", "llama")
      .number("llama.block_count", number(c.layers))
      .number("llama.context_length", number(c.context))
      .number("llama.embedding_length", number(c.hidden))
      .number("llama.feed_forward_length", number(c.ffn))
      .number("llama.attention.head_count", number(c.heads))
      .number("llama.attention.head_count_kv", number(c.kv_heads))
      .real("llama.attention.layer_norm_rms_epsilon", c.norm_epsilon)
      .number("tokenizer.ggml.bos_token_id", 300)
      .number("tokenizer.ggml.eos_token_id", 300)
      .text("tokenizer.ggml.model", "gpt2")
      .text("tokenizer.ggml.pre", "gpt-2");
  std::vector<std::string> tokens, merges;
  std::string types;
  io::test::append<std::uint32_t>(types, 5);  // i32
  io::test::append<std::uint64_t>(types, spec.tokens.size());
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    const std::string& token = spec.tokens[id];
    const bool added = id >= 300;
    io::test::append<std::int32_t>(types, token.empty() ? 5 : id == 300 ? 3 : added ? 4 : 1);
    tokens.push_back(token.empty() ? fmt::format("unused{}", id) : token);
  }
  for (const io::Merge& merge : spec.merges)
    merges.push_back(fmt::format("{} {}", spec.tokens[static_cast<std::size_t>(merge.left)],
                                 spec.tokens[static_cast<std::size_t>(merge.right)]));
  file.texts("tokenizer.ggml.tokens", std::vector<std::string_view>(tokens.begin(), tokens.end()))
      .texts("tokenizer.ggml.merges", std::vector<std::string_view>(merges.begin(), merges.end()))
      .raw("tokenizer.ggml.token_type", 9, types);
  const io::Safetensors weights = io::Safetensors::open(base() / "model.safetensors");
  for (const auto& [name, tensor] : weights.tensors()) {
    std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
    if (const std::int64_t heads = io::gguf_permuted_heads(name, c); heads > 0)
      io::permute_rows(bytes.data(), tensor.bytes.data(), tensor.shape[0], tensor.matrix().row_size_bytes(),
                       heads);
    std::vector<std::uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    file.tensor(io::gguf_name(name), 0, dims, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const fs::path path = folder_ / "base.gguf";
  const io::test::Bytes bytes = file.build();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  return path;
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
