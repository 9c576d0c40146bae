// Loads weights: a base model (one GGUF, a Hugging Face folder, a llama2.c file), a published M+ or MemoryLLM
// folder, or a base with an M+ delta on top. Tensors stay in the file's type and, where their form allows, in
// the mapped file.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "mplus/model/weights.h"

namespace mplus::model {

struct ModelFiles {
  std::filesystem::path model;
  std::optional<std::filesystem::path> delta;
};

std::shared_ptr<const Weights> load_weights(const ModelFiles& files);

}  // namespace mplus::model
