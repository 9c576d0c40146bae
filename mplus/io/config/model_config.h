// What a model's files say about its shape. Plain values; each reader rejects what cannot be a decoder of a
// known architecture with a message that names file and field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/config/memory_config.h"
#include "mplus/io/gguf/gguf.h"

namespace mplus::io {

struct RopeScaling {  // Llama 3's rule
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  std::int64_t original_context = 0;
};

struct ModelConfig {
  std::string architecture;  // "llama", "qwen2", "qwen3"
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t context = 0;
  float norm_epsilon = 0;
  double rope_theta = 0;
  std::optional<RopeScaling> rope_scaling;
  bool tied_embeddings = false;
  std::vector<std::int64_t> eos_ids;
  std::optional<std::int64_t> bos_id;
  bool add_bos = false;   // the tokenizer puts BOS in front of a text (a model with memory never feeds it)
  bool qkv_bias = false;  // q, k and v have biases (Qwen2)
  bool qk_norm = false;   // a head's query and key are normed before they are rotated (Qwen3)

  // GGUF interleaves the rotary pairs of a Llama's q and k; those of the others are in order.
  bool gguf_interleaves_heads() const { return architecture == "llama"; }
};

// Hugging Face config.json of a Llama, Qwen2 or Qwen3 (also of a published M+ or MemoryLLM checkpoint, whose
// extra keys are ignored here). add_bos is not in this file: it stays false.
ModelConfig parse_hf_config(std::string_view json_text, std::string_view file_name);

// The inverse, for writing: a config.json as transformers reads it.
std::string hf_config_json(const ModelConfig& config, std::string_view torch_dtype);

// Architecture llama, qwen2 or qwen3. A rope_freqs.weight tensor is accepted if it is what Llama 3.1's rule
// gives (factor from the tensor, low 1, high 4, original context 8192); other scalings are unsupported.
ModelConfig config_from_gguf(const Gguf& file);

}  // namespace mplus::io
