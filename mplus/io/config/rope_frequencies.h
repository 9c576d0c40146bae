// The inverse frequencies of rotary positions, Llama 3's scaling included: one statement for engine and
// trainer.
#pragma once

#include <vector>

#include "mplus/io/config/model_config.h"

namespace mplus::io {

std::vector<float> inverse_frequencies(const ModelConfig& config);  // [head_size / 2]

}  // namespace mplus::io
