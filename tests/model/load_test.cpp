#include "mplus/model/files/load.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/model/tiny_model.h"

namespace mplus::model {
namespace {

namespace fs = std::filesystem;
const std::string kGolden = MPLUS_TEST_DATA "/golden/";

ErrorCode code_of(const ModelFiles& files, std::string* message = nullptr) {
  try {
    load_weights(files);
  } catch (const Error& e) {
    if (message) *message = e.what();
    return e.code();
  }
  ADD_FAILURE() << "loaded " << files.model;
  return {};
}

class LoadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("mplus_load_test_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The golden model with one tensor left out, renamed or reshaped.
  void write_model(const std::function<bool(io::TensorData&)>& keep,
                   const std::string& model = "mplus_read/model") {
    fs::copy_file(kGolden + model + "/config.json", folder_ / "config.json",
                  fs::copy_options::overwrite_existing);
    const auto file = io::Safetensors::open(kGolden + model);
    std::vector<io::TensorData> tensors;
    for (const auto& [name, t] : file.tensors()) {
      io::TensorData copy{name, t.dtype, t.shape, t.bytes};
      if (keep(copy)) tensors.push_back(std::move(copy));
    }
    io::write_safetensors(folder_ / "model.safetensors", tensors, {});
  }
  fs::path folder_;
};

TEST_F(LoadTest, RecognisesWhatAFolderHolds) {
  EXPECT_FALSE(load_weights({kGolden + "llama3_rope/model_tied", {}})->memory);
  EXPECT_TRUE(load_weights({kGolden + "llama3_rope/model_tied", {}})->config.tied_embeddings);
  EXPECT_FALSE(load_weights({kGolden + "llama3_rope/model_untied", {}})->config.tied_embeddings);
  const auto mplus = load_weights({kGolden + "mplus_sequence/model", {}});  // its model_type reads "llama"
  ASSERT_TRUE(mplus->memory);
  EXPECT_TRUE(mplus->memory->has_retriever);
  EXPECT_EQ(mplus->initial_memory->long_term.size(), 3u);
  const auto older = load_weights({kGolden + "memoryllm_read/model", {}});
  ASSERT_TRUE(older->memory);
  EXPECT_FALSE(older->memory->has_retriever);
  EXPECT_EQ(older->memory->N, 30);
  EXPECT_TRUE(older->initial_memory->long_term.empty());
}

TEST_F(LoadTest, WeightsStayInTheFile) {
  const auto w = load_weights({kGolden + "mplus_read/model", {}});
  const auto file = io::Safetensors::open(kGolden + "mplus_read/model");
  EXPECT_EQ(w->embedding.dtype, DType::f32);
  EXPECT_EQ(w->layers[0].q.base.rows, 64);
}

TEST_F(LoadTest, MissingAndMisshapenTensorsAreNamed) {
  std::string message;
  write_model([](io::TensorData& t) { return t.name != "model.layers.2.mlp.up_proj.base_layer.weight"; });
  EXPECT_EQ(code_of({folder_, {}}, &message), ErrorCode::not_found);
  EXPECT_NE(message.find("model.layers.2.mlp.up_proj"), std::string::npos) << message;
  write_model([](io::TensorData& t) {
    if (t.name == "model.layers.1.self_attn.k_proj.base_layer.weight") t.shape = {64, 32};
    return true;
  });
  EXPECT_EQ(code_of({folder_, {}}, &message), ErrorCode::model_mismatch);
  EXPECT_NE(message.find("[32, 64]"), std::string::npos) << message;
  write_model(
      [](io::TensorData& t) { return t.name != "model.layers.0.self_attn.q_proj.lora_B.default.weight"; });
  EXPECT_EQ(code_of({folder_, {}}), ErrorCode::corrupt);
  write_model([](io::TensorData& t) { return t.name != "ltm_keys.3"; });
  EXPECT_EQ(code_of({folder_, {}}), ErrorCode::not_found);
}

TEST_F(LoadTest, BiasesAndHeadNormsOfOtherArchitectures) {
  for (const char* name : {"qwen/qwen2", "qwen/qwen2.gguf", "qwen/qwen3", "qwen/qwen3.gguf"}) {
    const auto w = load_weights({kGolden + name, {}});
    const bool two = w->config.architecture == "qwen2";
    for (const Layer& layer : w->layers) {
      for (const Projection* p : {&layer.q, &layer.k, &layer.v}) EXPECT_EQ(!p->bias.empty(), two) << name;
      for (const Projection* p : {&layer.q, &layer.k}) EXPECT_EQ(!p->head_norm.empty(), !two) << name;
      EXPECT_TRUE(layer.v.head_norm.empty());
    }
  }
  for (const auto& [model, tensor] : {std::pair{"qwen/qwen2", "model.layers.1.self_attn.v_proj.bias"},
                                      {"qwen/qwen3", "model.layers.1.self_attn.k_norm.weight"}}) {
    const std::string name = tensor;
    std::string message;
    write_model([&](io::TensorData& t) { return t.name != name; }, model);
    EXPECT_EQ(code_of({folder_, {}}, &message), ErrorCode::not_found);
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
}

// The weights of a quantised model lie where the file was mapped.
TEST_F(LoadTest, KQuantsStayInTheFile) {
  const auto w = load_weights({kGolden + "qwen/qwen2.gguf", {}});
  EXPECT_EQ(w->embedding.dtype, DType::q4_k);
  EXPECT_EQ(w->head.dtype, DType::q6_k);
  const auto* mapped = static_cast<const std::byte*>(w->embedding.data);
  const std::int64_t size = static_cast<std::int64_t>(fs::file_size(kGolden + "qwen/qwen2.gguf"));
  for (const Matrix* m : {&w->head, &w->layers[0].q.base, &w->layers[0].k.base, &w->layers[0].down.base})
    EXPECT_LT(std::abs(static_cast<const std::byte*>(m->data) - mapped), size);
}

TEST_F(LoadTest, WrongFilesGetAClearError) {
  EXPECT_EQ(code_of({folder_ / "nothing.gguf", {}}), ErrorCode::not_found);
  EXPECT_EQ(code_of({folder_ / "nothing", {}}), ErrorCode::not_found);
  std::ofstream(folder_ / "notes.txt") << "hello";
  EXPECT_EQ(code_of({folder_ / "notes.txt", {}}), ErrorCode::unsupported);
  std::ofstream(folder_ / "bad.gguf") << "GGUF";
  EXPECT_EQ(code_of({folder_ / "bad.gguf", {}}), ErrorCode::corrupt);
  // A delta needs a plain base of its own shape.
  const fs::path delta = MPLUS_SOURCE_DIR "/models/smollm2-135m-mplus.safetensors";
  EXPECT_EQ(code_of({kGolden + "mplus_read/model", delta}), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of({kGolden + "llama3_rope/model_tied", delta}), ErrorCode::model_mismatch);
}

}  // namespace
}  // namespace mplus::model
