// What training made, as the M+ delta the engine reads (docs/formats.md): bfloat16 tensors under their
// published names, sizes and the record of the run in the metadata.
#pragma once

#include <filesystem>

#include "mplus/train/model/model.h"

namespace mplus::train {

// What the record says goes before what the model's sizes say.
void save_delta(Model& model, const std::filesystem::path& file, const io::StringMap& record);

}  // namespace mplus::train
