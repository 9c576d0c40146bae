// A safetensors file that others than its owner may read: a model. What a memory holds is written by
// write_safetensors of safetensors.h, for its owner alone.
#pragma once

#include "mplus/core/files/file.h"
#include "mplus/io/weights/safetensors.h"

namespace mplus::io {

void write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors,
                       const StringMap& metadata, Readers readers);

}  // namespace mplus::io
