// What a checkpoint or delta says about memory. Symbols as in the paper: K tokens written per update, N
// short-term slots, K0 tokens recalled, M long-term capacity, C tokens of text per update, W window, d_r
// retriever width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/core/layer_set.h"
#include "mplus/core/recall_policy.h"
#include "mplus/io/weights/safetensors.h"

namespace mplus::io {

struct ModelConfig;

struct LoraConfig {
  std::int64_t rank = 0;
  double alpha = 0;
};

// What tells talk and tasks from questions for what may have been told: a linear form of the base model's
// hidden state, in front of this layer, at the end of a prompt with the message alone (docs/talk.md).
struct TalkProbe {
  std::int64_t layer = 0;
  double sure = 0;    // from this score on it is talk
  double unsure = 0;  // from this on it may be
};

struct MemoryConfig {  // 0 or empty where the files are silent
  std::int64_t K = 0;
  std::int64_t N = 0;
  std::int64_t K0 = 0;
  std::int64_t M = 0;
  std::int64_t C = 0;
  std::int64_t W = 0;
  std::int64_t d_r = 0;
  LoraConfig lora;
  bool drop_per_layer = true;
  bool has_retriever = false;
  bool has_encoder_query = false;
  bool has_read_lora = false;
  LayerSet layers;                            // that keep a memory; the others stay as if theirs were empty
  std::vector<std::int64_t> selector_layers;  // that have a retriever; empty: all
  int selector_depth = 2;                     // 2: Linear, SiLU, Linear; 1: one Linear
  RecallPolicy recall;
  std::string prompt;
  std::string stop;
  std::string chunk_form;
  bool chat_trained = false;
  std::optional<TalkProbe> talk;  // where the tensor is there
  std::string base;
};

// From the config.json of a published M+ or MemoryLLM checkpoint; nullopt if it has none of their keys. With
// a retriever or long-term blocks: N = (num_blocks − num_ltm_blocks)·K, K0 = num_ltm_blocks·K; else N =
// num_blocks·K, K0 = 0. The file is silent about C, W and M: 512, 2048 and 153600 (0 where K0 = 0).
std::optional<MemoryConfig> parse_published_memory_config(std::string_view json_text,
                                                          std::string_view file_name);

// The inverse, for writing such a checkpoint's config.json; long_term_rows per layer go into
// ltm_initial_size. The layout has no place for C, W, M and the prompt form.
std::string published_config_json(const ModelConfig& model, const MemoryConfig& memory,
                                  std::string_view torch_dtype, std::int64_t long_term_rows);

// From a delta's metadata and tensor names.
MemoryConfig delta_config(const Safetensors& delta);

// The inverse, for writing. Line breaks and other controls become two-character escapes, as metadata goes
// through tools that print it.
StringMap delta_metadata(const MemoryConfig& config);

}  // namespace mplus::io
