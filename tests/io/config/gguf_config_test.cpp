#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "mplus/io/config/model_config.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

using test::Bytes;
using test::GgufBuilder;

// Metadata of a small model: 2 layers, 64 wide, 4 heads of which 2 hold keys.
GgufBuilder small_model(const std::string& architecture) {
  GgufBuilder b;
  b.text("general.architecture", architecture)
      .number(architecture + ".block_count", 2)
      .number(architecture + ".context_length", 256)
      .number(architecture + ".embedding_length", 64)
      .number(architecture + ".feed_forward_length", 96)
      .number(architecture + ".attention.head_count", 4)
      .number(architecture + ".attention.head_count_kv", 2)
      .real(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
  b.tensor("token_embd.weight", 8, {64, 10}, std::string(10 * 68, 'x'));
  return b;
}
GgufBuilder small_llama() { return small_model("llama"); }

ModelConfig config(const GgufBuilder& builder) {
  const Bytes bytes = builder.build();
  return config_from_gguf(Gguf::parse(bytes, "m.gguf"));
}

// The divisors a converter stores for Llama 3.1's rule, computed from wavelengths as its authors state it.
std::string llama31_divisors(double factor, double theta, int head_size) {
  std::string out;
  for (int i = 0; i < head_size / 2; ++i) {
    const double wavelength = 2 * std::numbers::pi * std::pow(theta, 2.0 * i / head_size);
    double divisor = factor;
    if (wavelength < 8192.0 / 4) {
      divisor = 1;
    } else if (wavelength <= 8192.0) {
      const double smooth = (8192 / wavelength - 1) / (4 - 1);
      divisor = 1 / ((1 - smooth) / factor + smooth);
    }
    test::append(out, static_cast<float>(divisor));
  }
  return out;
}

TEST(GgufConfig, ReadsALlama) {
  const ModelConfig c = config(small_llama()
                                   .real("llama.rope.freq_base", 5e5f)
                                   .number("tokenizer.ggml.bos_token_id", 1)
                                   .number("tokenizer.ggml.eos_token_id", 2)
                                   .number("tokenizer.ggml.eot_token_id", 3));
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_size, 16);
  EXPECT_EQ(c.ffn, 96);
  EXPECT_EQ(c.vocab, 10);
  EXPECT_EQ(c.context, 256);
  EXPECT_EQ(c.norm_epsilon, 1e-5f);
  EXPECT_EQ(c.rope_theta, 5e5);
  EXPECT_FALSE(c.rope_scaling);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.eos_ids, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(c.bos_id, 1);
  EXPECT_FALSE(c.add_bos);
}

TEST(GgufConfig, Variants) {
  EXPECT_EQ(config(small_llama().number("llama.attention.key_length", 32)).head_size, 32);
  EXPECT_EQ(config(small_llama()).rope_theta, 10000);
  EXPECT_FALSE(
      config(small_llama().tensor("output.weight", 8, {64, 10}, std::string(680, 'x'))).tied_embeddings);
  EXPECT_TRUE(config(small_llama().flag("tokenizer.ggml.add_bos_token", 1)).add_bos);
  EXPECT_TRUE(config(small_llama().text("tokenizer.ggml.pre", "llama-bpe")).add_bos);
  EXPECT_FALSE(config(small_llama().text("tokenizer.ggml.pre", "smollm")).add_bos);
}

TEST(GgufConfig, ReadsQwen2) {
  const ModelConfig c = config(small_model("qwen2")
                                   .real("qwen2.rope.freq_base", 1e6f)
                                   .number("tokenizer.ggml.bos_token_id", 3)
                                   .number("tokenizer.ggml.eos_token_id", 4)
                                   .text("tokenizer.ggml.pre", "qwen2")
                                   .tensor("blk.0.attn_q.bias", 0, {1}, "0123")
                                   .tensor("output.weight", 8, {64, 10}, std::string(680, 'x')));
  EXPECT_EQ(c.architecture, "qwen2");
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_size, 16);
  EXPECT_EQ(c.norm_epsilon, 1e-5f);
  EXPECT_EQ(c.rope_theta, 1e6);
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_FALSE(c.add_bos);
  EXPECT_TRUE(c.qkv_bias);
  EXPECT_FALSE(c.qk_norm);
  EXPECT_FALSE(c.gguf_interleaves_heads());
}

TEST(GgufConfig, ReadsQwen3) {
  const ModelConfig c = config(small_model("qwen3")
                                   .number("qwen3.attention.key_length", 32)
                                   .number("qwen3.attention.value_length", 32)
                                   .tensor("blk.0.attn_q_norm.weight", 0, {1}, "0123"));
  EXPECT_EQ(c.architecture, "qwen3");
  EXPECT_EQ(c.head_size, 32);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_FALSE(c.qkv_bias);
  EXPECT_TRUE(c.qk_norm);
  EXPECT_FALSE(c.gguf_interleaves_heads());
}

TEST(GgufConfig, RefusesPartsOfAnotherArchitecture) {
  struct Case {
    const char *architecture, *tensor;
  };
  for (const Case& c : {Case{"llama", "blk.0.attn_q_norm.weight"}, Case{"qwen2", "blk.0.attn_k_norm.weight"},
                        Case{"qwen2", "blk.0.attn_output.bias"}, Case{"qwen3", "blk.0.attn_v.bias"}})
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, (std::string("'") + c.tensor + "'", c.architecture),
                       config(small_model(c.architecture).tensor(c.tensor, 0, {1}, "0123")));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("qwen3.attention.value_length", "16", "8"),
                     config(small_model("qwen3").number("qwen3.attention.value_length", 8)));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("qwen2.rope.scaling.type", "'yarn'"),
                     config(small_model("qwen2").text("qwen2.rope.scaling.type", "yarn")));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("qwen3.expert_count", "8"),
                     config(small_model("qwen3").number("qwen3.expert_count", 8)));
}

TEST(GgufConfig, RecognisesLlama31sRule) {
  for (const double factor : {8.0, 32.0}) {
    const std::string divisors = llama31_divisors(factor, 5e5, 128);
    const auto c = config(small_llama()
                              .number("llama.attention.key_length", 128)
                              .real("llama.rope.freq_base", 5e5f)
                              .tensor("rope_freqs.weight", 0, {64}, divisors));
    ASSERT_TRUE(c.rope_scaling);
    EXPECT_EQ(c.rope_scaling->factor, factor);
    EXPECT_EQ(c.rope_scaling->low_freq_factor, 1);
    EXPECT_EQ(c.rope_scaling->high_freq_factor, 4);
    EXPECT_EQ(c.rope_scaling->original_context, 8192);
  }
}

TEST(GgufConfig, RefusesScalingsItDoesNotKnow) {
  std::string doubled;
  for (int i = 0; i < 8; ++i) test::append(doubled, 2.0f);
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("m.gguf", "rope_freqs.weight"),
                     config(small_llama().tensor("rope_freqs.weight", 0, {8}, doubled)));
  EXPECT_MPLUS_ERROR(ErrorCode::model_mismatch, ("rope_freqs.weight", "[8]", "[4]"),
                     config(small_llama().tensor("rope_freqs.weight", 0, {4}, doubled.substr(0, 16))));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("llama.rope.scaling.type", "'yarn'"),
                     config(small_llama().text("llama.rope.scaling.type", "yarn")));
  EXPECT_MPLUS_ERROR(
      ErrorCode::unsupported, ("llama.rope.scaling.type", "'linear'"),
      config(small_llama().text("llama.rope.scaling.type", "linear").real("llama.rope.scaling.factor", 4)));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("llama.rope.dimension_count", "16", "8"),
                     config(small_llama().number("llama.rope.dimension_count", 8)));
}

TEST(GgufConfig, RefusesWhatIsNotALlama) {
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("m.gguf", "general.architecture", "'gemma'"),
                     config(GgufBuilder().text("general.architecture", "gemma")));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("general.architecture", "nothing"), config(GgufBuilder()));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("llama.block_count", "nothing"),
                     config(GgufBuilder().text("general.architecture", "llama")));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("split.count", "3"),
                     config(small_llama().number("split.count", 3)));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("llama.expert_count", "8"),
                     config(small_llama().number("llama.expert_count", 8)));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("'blk.0.attn_q.bias'"),
                     config(small_llama().tensor("blk.0.attn_q.bias", 0, {1}, "0123")));
}

}  // namespace
}  // namespace mplus::io
