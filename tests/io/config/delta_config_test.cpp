#include <gtest/gtest.h>

#include "mplus/io/config/memory_config.h"
#include "tests/io/config/same_memory_config.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

using test::TemporaryFolder;

Safetensors shipped() { return Safetensors::open(MPLUS_SOURCE_DIR "/models/smollm2-135m-mplus.safetensors"); }

// The shipped delta's names with other metadata; only names and shapes matter here.
MemoryConfig with_metadata(const StringMap& metadata, const std::vector<std::string>& names = {}) {
  const float values[8] = {};
  std::vector<TensorData> tensors;
  for (const std::string& name : names)
    tensors.push_back({name, DType::f32, {4, 2}, std::as_bytes(std::span(values))});
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "d", tensors, metadata);
  return delta_config(Safetensors::open(folder.path() / "d"));
}

TEST(DeltaConfig, TheShippedDelta) {
  const MemoryConfig m = delta_config(shipped());
  EXPECT_EQ(m.K, 128);
  EXPECT_EQ(m.N, 1024);
  EXPECT_EQ(m.K0, 256);
  EXPECT_EQ(m.M, 153600);
  EXPECT_EQ(m.C, 256);
  EXPECT_EQ(m.W, 1024);
  EXPECT_EQ(m.d_r, 64);
  EXPECT_EQ(m.lora.rank, 32);
  EXPECT_EQ(m.lora.alpha, 64);
  EXPECT_EQ(m.prompt, "Question: {q}\nAnswer:");
  EXPECT_EQ(m.stop, "\n");
  EXPECT_EQ(m.recall.rule, RecallRule::consensus);
  EXPECT_TRUE(m.recall.over_everything);
  EXPECT_EQ(m.recall.read_over, ReadOver::attempts);
  EXPECT_EQ(m.recall.attempts, 3);
  EXPECT_EQ(m.recall.margin, 1.25);
  EXPECT_EQ(m.recall.lag, 3);
  EXPECT_EQ(m.recall.lean, 0.5);
  EXPECT_EQ(m.recall.no_answer, "I do not know.");
  EXPECT_EQ(m.chunk_form, "filled");
  EXPECT_TRUE(m.chat_trained);
  EXPECT_EQ(m.recall.vote_top, 8);
  EXPECT_TRUE(m.has_retriever);
  EXPECT_FALSE(m.has_encoder_query);
  EXPECT_TRUE(m.has_read_lora);
  EXPECT_TRUE(m.selector_layers.empty());
  EXPECT_EQ(m.selector_depth, 2);
  EXPECT_NE(m.base.find("SmolLM2-135M-Instruct"), std::string::npos);
  ASSERT_TRUE(m.talk);
  EXPECT_EQ(m.talk->layer, 15);
  EXPECT_EQ(m.talk->sure, 0.5);
  EXPECT_EQ(m.talk->unsure, 0);
}

// Without its tensor there is none, whatever metadata says.
TEST(DeltaConfig, WhatTellsTalk) {
  const StringMap metadata = delta_metadata(delta_config(shipped()));
  EXPECT_FALSE(with_metadata(metadata).talk);
  const MemoryConfig m = with_metadata(metadata, {"talk"});
  ASSERT_TRUE(m.talk);
  EXPECT_EQ(m.talk->layer, 15);
  EXPECT_EQ(m.talk->sure, 0.5);
  StringMap wrong = metadata;
  wrong["talk_unsure"] = "0.75";
  EXPECT_THROW(with_metadata(wrong, {"talk"}), Error);
  wrong.erase("talk_layer");
  EXPECT_THROW(with_metadata(wrong, {"talk"}), Error);
}

TEST(DeltaConfig, WhatIsWrittenReadsTheSame) {
  MemoryConfig m = delta_config(shipped());
  m.recall.vote_top = 16;
  m.recall.over_everything = true;
  m.recall.margin = 0.75;
  m.recall.read_over = ReadOver::attempts;
  m.recall.attempts = 5;
  m.recall.lean = 1.25;
  m.recall.lag = 4;
  m.recall.no_answer = "I do not know.";
  m.chat_trained = true;
  m.prompt = "back\\slash \\n stays, tab\t, cr\r, newline\n{q} é \\";
  const std::vector<std::string> names = {"model.layers.0.self_attn.q_proj.lora_A.decoder_adapter.weight",
                                          "model.layers.0.self_attn.key_proj.2.weight"};
  expect_same(with_metadata(delta_metadata(m), names), m);
}

TEST(DeltaConfig, TensorsTellWhatMetadataDoesNot) {
  const StringMap sizes{{"K", "2"}, {"N", "4"}};
  const MemoryConfig m = with_metadata(
      sizes, {"model.layers.0.mlp.up_proj.lora_A.default.weight", "model.layers.1.self_attn.key_proj.weight",
              "model.layers.1.self_attn.encoder_query_proj.weight"});
  EXPECT_EQ(m.lora.rank, 4);
  EXPECT_EQ(m.lora.alpha, 4);
  EXPECT_EQ(m.d_r, 4);
  EXPECT_EQ(m.selector_depth, 1);
  EXPECT_EQ(m.selector_layers, std::vector<std::int64_t>{1});
  EXPECT_TRUE(m.has_encoder_query);
  EXPECT_FALSE(m.has_read_lora);
  EXPECT_FALSE(with_metadata(sizes).has_retriever);
}

TEST(DeltaConfig, AMemoryInSomeLayers) {
  const StringMap sizes{{"K", "2"}, {"N", "4"}, {"memory_layers", "1,3-4"}};
  const std::vector<std::string> names = {"model.layers.0.mlp.up_proj.lora_A.default.weight",
                                          "model.layers.3.self_attn.key_proj.weight"};
  const MemoryConfig m = with_metadata(sizes, names);
  EXPECT_EQ(m.layers, LayerSet({1, 3, 4}));
  EXPECT_EQ(delta_metadata(m).at("memory_layers"), "1,3-4");
  EXPECT_FALSE(delta_metadata(with_metadata({{"K", "2"}, {"N", "4"}})).contains("memory_layers"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("retriever in layer 2", "memory_layers"),
                     with_metadata(sizes, {"model.layers.2.self_attn.key_proj.weight"}));
}

TEST(DeltaConfig, RefusesMetadataThatCannotBe) {
  const auto refused = [](const std::string& key, const std::string& value) {
    StringMap metadata{{"K", "2"}, {"N", "4"}};
    metadata[key] = value;
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("metadata '" + key + "'", value), with_metadata(metadata));
  };
  for (const char* value : {"", "0", "-1", "2.5", "x", "2x", "99999999999999999999"}) refused("K", value);
  refused("N", "1");
  refused("alpha", "nan");
  refused("alpha", "inf");
  refused("chat_trained", "maybe");
  for (const char* value : {"", "3-1", "1,1", "every other"}) refused("memory_layers", value);
  refused("C", "0");
  refused("recall_margin", "-1");
  refused("recall_margin", "nan");
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("metadata 'recall_over'", "everything", "nothing"),
                     with_metadata({{"K", "2"}, {"N", "4"}, {"recall_over", "nothing"}}));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("metadata 'read_over'", "recalled", "nothing"),
                     with_metadata({{"K", "2"}, {"N", "4"}, {"read_over", "nothing"}}));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("metadata 'read_over'", "needs 'recall_over'"),
                     with_metadata({{"K", "2"}, {"N", "4"}, {"read_over", "recalled"}}));
  EXPECT_MPLUS_ERROR(
      ErrorCode::unsupported, ("metadata 'read_over'", "needs 'no_answer'"),
      with_metadata({{"K", "2"}, {"N", "4"}, {"recall_over", "everything"}, {"read_over", "in-turn"}}));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("metadata 'evidence'", "none or names", "all"),
                     with_metadata({{"K", "2"}, {"N", "4"}, {"evidence", "all"}}));
  refused("read_turns", "0");
  refused("hops", "3");
  refused("turn_lean", "-1");
  refused("turn_lag", "inf");
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("metadata 'K'", "nothing"), with_metadata({{"N", "4"}}));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("metadata 'format_version'", "1", "2"),
                     with_metadata({{"K", "2"}, {"N", "4"}, {"format_version", "2"}}));
}

}  // namespace
}  // namespace mplus::io
