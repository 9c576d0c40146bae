// The base's own weights after training, as a Hugging Face folder that engine and trainer load: config.json,
// model.safetensors, and the tokenizer and chat template of the model the run began with.
#pragma once

#include <filesystem>

#include "mplus/train/model/model.h"

namespace mplus::train {

// type: f32 or bf16. `source`: where tokenizer and chat template come from. Every file is replaced as a
// whole, the weights last, so a folder that is there stays usable.
void save_base(Model& model, const std::filesystem::path& source, const std::filesystem::path& folder,
               DType type);

}  // namespace mplus::train
