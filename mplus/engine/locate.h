// Where models are looked for, in order: the option, MPLUS_MODEL / MPLUS_DELTA, $MPLUS_HOME/models, beside
// the program (share/mplus), the source tree.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mplus/model/files/load.h"

namespace mplus::engine {

inline constexpr const char* kDefaultModelFile = "SmolLM2-135M-Instruct.Q4_1.gguf";
inline constexpr const char* kDefaultDeltaFile = "smollm2-135m-mplus.safetensors";
inline constexpr const char* kQwenCoderName = "qwen2.5-coder-1.5b";  // as `mplus model get` and -m take it
inline constexpr const char* kQwenCoderFile = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";
inline constexpr const char* kQwenCoderDelta = "qwen2.5-coder-1.5b-mplus.safetensors";

std::filesystem::path home_folder();  // $MPLUS_HOME, else $XDG_DATA_HOME/mplus, else ~/.local/share/mplus

// Folders that may hold models, in the order in which they are searched.
std::vector<std::filesystem::path> model_folders();

// `model` and `delta` as the user gave them: a path, or a name found in a model folder; empty: the
// environment, then the default model. A delta of "none" means the plain base model. When nothing is named,
// the default delta goes with the default model. Throws not_found naming every place that was searched and
// what to do.
model::ModelFiles locate_model(const std::string& model, const std::string& delta, bool default_delta = true);

}  // namespace mplus::engine
