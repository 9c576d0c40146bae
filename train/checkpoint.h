// A run, saved so that it goes on as if it had not stopped: the tensors that are trained, their moments, the
// random generator and the counters. One safetensors file, written atomically.
#pragma once

#include <cstdint>
#include <filesystem>

#include "mplus/train/optimizer.h"

namespace mplus::train {

struct Progress {
  std::int64_t step = 0;
  double seconds = 0;  // of training so far
};

void save_checkpoint(const std::filesystem::path& file, AdamW& optimizer, const at::Generator& generator,
                     const Progress& progress);

// Into an optimizer over the same tensors; another name, shape or number of tensors is an error.
Progress load_checkpoint(const std::filesystem::path& file, AdamW& optimizer, at::Generator& generator);

}  // namespace mplus::train
