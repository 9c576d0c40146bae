// Checkpoints of Karpathy's llama2.c (version 0: seven integers, then float32 weights) and its tokenizer
// file: the smallest real models there are, which makes them good tests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/core/tensors/buffer.h"
#include "mplus/io/config/model_config.h"
#include "mplus/io/weights/tensor.h"

namespace mplus::io {

struct Llama2cModel {
  ModelConfig config;
  // Under their Hugging Face names (model.layers.0.self_attn.q_proj.weight, …), rows of q and k half-split.
  TensorMap tensors;
  std::shared_ptr<const void> owner;  // keeps the bytes alive
};
Llama2cModel open_llama2c(const std::filesystem::path& path);

struct Llama2cVocabulary {
  std::vector<std::string> pieces;
  std::vector<float> scores;

  // The text of one token; after BOS (id 1) a leading space is dropped. "<0x0A>" is the byte 0x0A.
  std::string text(std::int64_t id, std::int64_t previous) const;
};
Llama2cVocabulary open_llama2c_vocabulary(const std::filesystem::path& path, std::int64_t vocab);

}  // namespace mplus::io
