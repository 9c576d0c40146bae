// What a GGUF calls the tensors of a decoder, and which of them have their rows in another order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mplus/io/config/model_config.h"

namespace mplus::io {

// "model.layers.7.mlp.up_proj.weight" → "blk.7.ffn_up.weight"; a name without a counterpart stays as it is.
std::string gguf_name(std::string_view hugging_face_name);

// Heads of a matrix whose rows a GGUF interleaves (unpermute_rows in dequantise.h); 0: rows are in order.
std::int64_t gguf_permuted_heads(std::string_view hugging_face_name, const ModelConfig& config);

}  // namespace mplus::io
