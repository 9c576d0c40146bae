#include "mplus/io/config/model_config.h"

#include <gtest/gtest.h>

#include "mplus/core/files/file.h"
#include "mplus/io/text/json.h"
#include "tests/io/expect_error.h"

namespace mplus::io {
namespace {

ModelConfig from_file(const std::string& name) {
  const std::string path = MPLUS_TEST_DATA "/" + name;
  return parse_hf_config(read_text_file(path), path);
}

// The golden model's configuration with some fields changed; a null value removes the field.
ModelConfig changed_model(const Json& changes) {
  Json json =
      parse_json(read_text_file(MPLUS_TEST_DATA "/golden/llama3_rope/model_untied/config.json"), "golden");
  for (const auto& [key, value] : changes.items()) json[key] = value;
  return parse_hf_config(json.dump(), "config.json");
}

void expect_same(const ModelConfig& a, const ModelConfig& b) {
  EXPECT_EQ(a.architecture, b.architecture);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.hidden, b.hidden);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
  EXPECT_EQ(a.head_size, b.head_size);
  EXPECT_EQ(a.ffn, b.ffn);
  EXPECT_EQ(a.vocab, b.vocab);
  EXPECT_EQ(a.context, b.context);
  EXPECT_EQ(a.norm_epsilon, b.norm_epsilon);
  EXPECT_EQ(a.rope_theta, b.rope_theta);
  ASSERT_EQ(a.rope_scaling.has_value(), b.rope_scaling.has_value());
  if (a.rope_scaling) {
    EXPECT_EQ(a.rope_scaling->factor, b.rope_scaling->factor);
    EXPECT_EQ(a.rope_scaling->low_freq_factor, b.rope_scaling->low_freq_factor);
    EXPECT_EQ(a.rope_scaling->high_freq_factor, b.rope_scaling->high_freq_factor);
    EXPECT_EQ(a.rope_scaling->original_context, b.rope_scaling->original_context);
  }
  EXPECT_EQ(a.tied_embeddings, b.tied_embeddings);
  EXPECT_EQ(a.qkv_bias, b.qkv_bias);
  EXPECT_EQ(a.qk_norm, b.qk_norm);
  EXPECT_EQ(a.eos_ids, b.eos_ids);
  EXPECT_EQ(a.bos_id, b.bos_id);
}

TEST(HfConfig, SmolLM2) {
  const ModelConfig c = from_file("tokenizers/config.json");
  EXPECT_EQ(c.architecture, "llama");
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
}

TEST(HfConfig, Llama3Scaling) {
  const ModelConfig c = from_file("golden/llama3_rope/model_tied/config.json");
  ASSERT_TRUE(c.rope_scaling);
  EXPECT_EQ(c.rope_scaling->factor, 8);
  EXPECT_EQ(c.rope_scaling->low_freq_factor, 1);
  EXPECT_EQ(c.rope_scaling->high_freq_factor, 4);
  EXPECT_EQ(c.rope_scaling->original_context, 64);
  // As transformers 5 writes it.
  const ModelConfig later = changed_model({{"rope_theta", nullptr},
                                           {"rope_scaling", nullptr},
                                           {"rope_parameters",
                                            {{"rope_theta", 5e5},
                                             {"rope_type", "llama3"},
                                             {"factor", 32},
                                             {"low_freq_factor", 1},
                                             {"high_freq_factor", 4},
                                             {"original_max_position_embeddings", 8192}}}});
  EXPECT_EQ(later.rope_theta, 5e5);
  EXPECT_EQ(later.rope_scaling->factor, 32);
}

TEST(HfConfig, DefaultsAndLists) {
  EXPECT_EQ(changed_model({{"head_dim", nullptr}}).head_size, 16);
  EXPECT_EQ(changed_model({{"head_dim", 32}}).head_size, 32);
  EXPECT_EQ(changed_model({{"num_key_value_heads", nullptr}}).kv_heads, 4);
  EXPECT_EQ(changed_model({{"rope_theta", nullptr}}).rope_theta, 10000);
  EXPECT_FALSE(changed_model({{"rope_scaling", nullptr}}).rope_scaling);
  EXPECT_FALSE(changed_model({{"rope_scaling", {{"type", "default"}}}}).rope_scaling);
  EXPECT_EQ(changed_model({{"eos_token_id", {3, 5}}}).eos_ids, (std::vector<std::int64_t>{3, 5}));
  EXPECT_TRUE(changed_model({{"eos_token_id", nullptr}}).eos_ids.empty());
  EXPECT_FALSE(changed_model({{"bos_token_id", nullptr}}).bos_id);
}

TEST(HfConfig, Qwen) {
  const ModelConfig two = changed_model({{"model_type", "qwen2"}, {"use_sliding_window", false}});
  EXPECT_EQ(two.architecture, "qwen2");
  EXPECT_TRUE(two.qkv_bias);
  EXPECT_FALSE(two.qk_norm);
  EXPECT_EQ(changed_model({{"model_type", "qwen2"}, {"head_dim", nullptr}}).head_size, 16);
  const ModelConfig three = changed_model({{"model_type", "qwen3"}, {"head_dim", 24}});
  EXPECT_EQ(three.architecture, "qwen3");
  EXPECT_EQ(three.head_size, 24);
  EXPECT_FALSE(three.qkv_bias);
  EXPECT_TRUE(three.qk_norm);
  EXPECT_EQ(changed_model({{"model_type", "qwen3"}, {"head_dim", nullptr}}).head_size, 128);
  for (const ModelConfig& c : {two, three})
    expect_same(parse_hf_config(hf_config_json(c, "float32"), "written"), c);
  for (const char* type : {"qwen2", "qwen3"}) {
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("config.json: attention_bias"),
                       changed_model({{"model_type", type}, {"attention_bias", true}}));
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("config.json: use_sliding_window"),
                       changed_model({{"model_type", type}, {"use_sliding_window", true}}));
  }
}

TEST(HfConfig, RefusesWhatIsNotALlama) {
  const auto refused = [](const Json& change) {
    const std::string key = change.items().begin().key();
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("config.json: " + key), changed_model(change));
  };
  refused({{"model_type", "mistral"}});
  refused({{"hidden_act", "gelu"}});
  refused({{"attention_bias", true}});
  refused({{"mlp_bias", true}});
  refused({{"partial_rotary_factor", 0.5}});
  refused({{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 2}}}});
  refused({{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}});
}

TEST(HfConfig, RefusesSizesThatCannotBe) {
  const auto refused = [](const Json& change, const std::string& field) {
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json: " + field), changed_model(change));
  };
  for (const char* key :
       {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size"})
    for (const Json& value :
         {Json(nullptr), Json(0), Json(-1), Json("4"), Json(1.5), Json(INT64_MAX), Json::array()})
      refused({{key, value}}, key);
  refused({{"num_key_value_heads", 3}}, "key/value heads");
  refused({{"head_dim", 15}}, "head size");
  refused({{"head_dim", nullptr}, {"num_attention_heads", 3}}, "hidden size");
  for (const double epsilon : {0.0, -1e-5, 1e-300, 2.0}) refused({{"rms_norm_eps", epsilon}}, "rms_norm_eps");
  refused({{"rope_theta", -1}}, "rope_theta");
  refused({{"rope_scaling", {{"rope_type", "llama3"}}}}, "rope_scaling.factor");
  refused({{"rope_scaling", "llama3"}}, "rope_scaling");
  refused({{"eos_token_id", {1, "x"}}}, "eos_token_id");
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json"), parse_hf_config("[]", "config.json"));
}

TEST(HfConfig, WhatIsWrittenReadsTheSame) {
  for (const char* name : {"tokenizers/config.json", "golden/llama3_rope/model_tied/config.json",
                           "golden/mplus_sequence/model/config.json"}) {
    const ModelConfig c = from_file(name);
    expect_same(parse_hf_config(hf_config_json(c, "float32"), "written"), c);
  }
  ModelConfig c = from_file("tokenizers/config.json");
  c.eos_ids = {4, 7};
  c.bos_id.reset();
  expect_same(parse_hf_config(hf_config_json(c, "bfloat16"), "written"), c);
}

}  // namespace
}  // namespace mplus::io
