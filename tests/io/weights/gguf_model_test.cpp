// The default base model, SmolLM2-135M-Instruct in Q4_1, through the real file. The hashes are those of the
// same tensors dequantised by an independent numpy statement of the formats (in float64, rounded once).
#include <gtest/gtest.h>

#include "mplus/io/config/model_config.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/weights/dequantise.h"
#include "tests/io/default_model.h"

namespace mplus::io {
namespace {

std::string float_hash(const std::vector<float>& values) {
  return sha256_hex(std::as_bytes(std::span(values)));
}

class DefaultModel : public ::testing::Test {
 protected:
  void SetUp() override { MPLUS_NEED_DEFAULT_MODEL(); }
};

TEST_F(DefaultModel, Shape) {
  const Gguf file = Gguf::open(test::default_model_path());
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.tensors().size(), 272u);
  const ModelConfig c = config_from_gguf(file);
  EXPECT_EQ(c.layers, 30);
  EXPECT_EQ(c.hidden, 576);
  EXPECT_EQ(c.heads, 9);
  EXPECT_EQ(c.kv_heads, 3);
  EXPECT_EQ(c.head_size, 64);
  EXPECT_EQ(c.ffn, 1536);
  EXPECT_EQ(c.vocab, 49152);
  EXPECT_EQ(c.context, 8192);
  EXPECT_EQ(c.norm_epsilon, 1e-5f);
  EXPECT_EQ(c.rope_theta, 100000);
  EXPECT_FALSE(c.rope_scaling);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.eos_ids, std::vector<std::int64_t>{2});
  EXPECT_EQ(c.bos_id, 1);
  EXPECT_FALSE(c.add_bos);
}

TEST_F(DefaultModel, EveryTensorDequantisesAsNumpySays) {
  const Gguf file = Gguf::open(test::default_model_path());
  EXPECT_EQ(float_hash(dequantise(file.at("token_embd.weight", {DType::q8_0}, {49152, 576}))),
            "3fd491c8066dd9dc1a2bf6796701526c82817d95c0ecabacdef3013c2b8bbbaa");
  EXPECT_EQ(float_hash(dequantise(file.at("blk.29.ffn_down.weight", {DType::q4_1}, {576, 1536}))),
            "c19605745425a11e704e305ce3d27b632c406195d39eb3377e9cfb140ac643d1");
  EXPECT_EQ(float_hash(dequantise(file.at("output_norm.weight", {DType::f32}, {576}))),
            "3b87f8e27335e67fc08f159cabfd2d18f205d6c5b225a6f978153552bf01d559");
  std::string hashes;  // of all tensors by name
  for (const auto& [name, tensor] : file.tensors()) hashes += float_hash(dequantise(tensor));
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span(hashes))),
            "5e9819d1bc0bce4bd65bf1dd0469f40f8176926b56d3311c8f7b401c7a38e916");
}

TEST_F(DefaultModel, QueryRowsInTheHalfSplitLayout) {
  const Gguf file = Gguf::open(test::default_model_path());
  Tensor q = file.at("blk.0.attn_q.weight", {DType::q4_1}, {576, 576});
  std::vector<std::byte> rows(q.bytes.size());
  unpermute_rows(rows.data(), q.bytes.data(), 576, q.matrix().row_size_bytes(), 9);
  q.bytes = rows;
  EXPECT_EQ(float_hash(dequantise(q)), "54b377bbfa2deab945dfdba7fb59e0ca3eb74329358bd1b53b635b3ff37c1a56");
}

TEST_F(DefaultModel, Tokens) {
  const Gguf file = Gguf::open(test::default_model_path());
  const auto tokens = file.get_strings("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->size(), 49152u);
  EXPECT_EQ((*tokens)[2], "<|im_end|>");
  EXPECT_EQ(file.get_i32s("tokenizer.ggml.token_type")->size(), 49152u);
  EXPECT_EQ((*file.get_strings("tokenizer.ggml.merges"))[8], "Ġt he");
}

}  // namespace
}  // namespace mplus::io
