#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "expect_error.h"
#include "file_bytes.h"
#include "mplus/io/model_config.h"

namespace mplus::io {
namespace {

using test::Bytes;
using test::GgufBuilder;

// Metadata of a small Llama: 2 layers, 64 wide, 4 heads of which 2 hold keys.
GgufBuilder small_llama() {
  GgufBuilder b;
  b.text("general.architecture", "llama")
      .number("llama.block_count", 2)
      .number("llama.context_length", 256)
      .number("llama.embedding_length", 64)
      .number("llama.feed_forward_length", 96)
      .number("llama.attention.head_count", 4)
      .number("llama.attention.head_count_kv", 2)
      .real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  b.tensor("token_embd.weight", 8, {64, 10}, std::string(10 * 68, 'x'));
  return b;
}

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
