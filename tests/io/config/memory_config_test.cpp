#include "mplus/io/config/memory_config.h"

#include <gtest/gtest.h>

#include "mplus/core/files/file.h"
#include "mplus/io/config/model_config.h"
#include "mplus/io/text/json.h"
#include "tests/io/config/same_memory_config.h"
#include "tests/io/expect_error.h"

namespace mplus::io {
namespace {

std::string text_of(const std::string& name) {
  return read_text_file(MPLUS_TEST_DATA "/golden/" + name + "/config.json");
}

std::optional<MemoryConfig> changed(const Json& changes) {
  Json json = parse_json(text_of("mplus_inject/model"), "golden");
  for (const auto& [key, value] : changes.items()) json[key] = value;
  return parse_published_memory_config(json.dump(), "config.json");
}

TEST(PublishedMemory, MPlus) {
  const auto m = parse_published_memory_config(text_of("mplus_inject/model"), "f");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->K, 6);
  EXPECT_EQ(m->N, 24);
  EXPECT_EQ(m->K0, 12);
  EXPECT_EQ(m->M, 153600);
  EXPECT_EQ(m->C, 512);
  EXPECT_EQ(m->W, 2048);
  EXPECT_EQ(m->d_r, 16);
  EXPECT_EQ(m->lora.rank, 4);
  EXPECT_EQ(m->lora.alpha, 8);
  EXPECT_TRUE(m->drop_per_layer);
  EXPECT_TRUE(m->has_retriever);
  EXPECT_TRUE(m->has_encoder_query);
  EXPECT_TRUE(m->has_read_lora);
  EXPECT_TRUE(m->selector_layers.empty());
  EXPECT_EQ(m->selector_depth, 2);
}

TEST(PublishedMemory, MemoryLLMHasNoLongTermMemory) {
  const auto m = parse_published_memory_config(text_of("memoryllm_read/model"), "f");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->K, 6);
  EXPECT_EQ(m->N, 30);
  EXPECT_EQ(m->K0, 0);
  EXPECT_EQ(m->M, 0);
  EXPECT_FALSE(m->has_retriever);
  EXPECT_TRUE(m->drop_per_layer);
  Json json = parse_json(text_of("memoryllm_read/model"), "golden");
  json["drop_memory_per_layer"] = false;
  EXPECT_FALSE(parse_published_memory_config(json.dump(), "f")->drop_per_layer);
  json.erase("drop_memory_per_layer");
  EXPECT_FALSE(parse_published_memory_config(json.dump(), "f")->drop_per_layer);
}

TEST(PublishedMemory, APlainLlamaHasNone) {
  EXPECT_FALSE(parse_published_memory_config(text_of("llama3_rope/model_tied"), "f"));
}

TEST(PublishedMemory, RetrieverVariants) {
  EXPECT_EQ(changed({{"selector_layers", {0, 2}}})->selector_layers, (std::vector<std::int64_t>{0, 2}));
  EXPECT_TRUE(changed({{"selector_layers", nullptr}})->selector_layers.empty());
  EXPECT_EQ(changed({{"num_selector_layers", 1}})->selector_depth, 1);
  EXPECT_FALSE(changed({{"add_encoder_retriever", nullptr}})->has_encoder_query);
  EXPECT_FALSE(changed({{"add_selector", false}})->has_retriever);
}

TEST(PublishedMemory, RefusesSizesThatCannotBe) {
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json: num_ltm_blocks", "6"),
                     changed({{"num_ltm_blocks", 6}}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json: num_tokens", "0"), changed({{"num_tokens", 0}}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json: num_tokens", "nothing"),
                     changed({{"num_tokens", nullptr}}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json: num_blocks"), changed({{"num_blocks", 1e18}}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json: selector_layers", "3"),
                     changed({{"selector_layers", {0, 3}}}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("config.json: lora_config.r"),
                     changed({{"lora_config", Json::object()}}));
}

TEST(PublishedMemory, WhatIsWrittenReadsTheSame) {
  for (const char* name : {"mplus_inject/model", "mplus_sequence/model", "memoryllm_read/model"}) {
    const ModelConfig model = parse_hf_config(text_of(name), name);
    auto memory = *parse_published_memory_config(text_of(name), name);
    const std::string written = published_config_json(model, memory, "float32", 20);
    expect_same(*parse_published_memory_config(written, "written"), memory);
    EXPECT_EQ(parse_hf_config(written, "written").head_size, model.head_size);
    memory.N += 1;
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, (std::to_string(memory.N)),
                       published_config_json(model, memory, "float32", 20));
  }
}

// Every key of the golden files that the reference's own class reads is written again, with the same value.
TEST(PublishedMemory, WritesTheKeysOfThePublishedFile) {
  const Json golden = parse_json(text_of("mplus_read/model"), "golden");
  const ModelConfig model = parse_hf_config(text_of("mplus_read/model"), "golden");
  const auto memory = *parse_published_memory_config(text_of("mplus_read/model"), "golden");
  const Json written = parse_json(published_config_json(model, memory, "float32", 47), "written");
  for (const char* key : {"num_tokens",
                          "num_blocks",
                          "num_ltm_blocks",
                          "num_memory_tokens",
                          "add_bos_embedding",
                          "add_decoder_lora",
                          "lora_config",
                          "add_selector",
                          "selector_hidden_dim",
                          "num_selector_layers",
                          "selector_layers",
                          "ltm_initial_size",
                          "update_ltm_mode",
                          "update_ltm_frequency",
                          "decay_frequency",
                          "initial_rf_when_moving_stm_to_ltm",
                          "add_encoder_retriever",
                          "drop_memory_per_layer",
                          "detach_hidden_state",
                          "map_from_hidden_states",
                          "maintain_memory_keys",
                          "architectures",
                          "model_type",
                          "rope_scaling"})
    EXPECT_EQ(written[key], golden[key]) << key;
}

}  // namespace
}  // namespace mplus::io
