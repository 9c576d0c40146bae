// Loads what is trained: a base model (one GGUF, dequantised, or a Hugging Face folder) with an M+ delta on
// top, or a published M+ checkpoint. Everything is read through io, so engine and trainer mean the same
// numbers.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "mplus/train/model/model.h"

namespace mplus::train {

struct ModelFiles {
  std::filesystem::path model;
  std::optional<std::filesystem::path> delta;
};

// The memory a checkpoint brought, as hidden states. Births as docs/architecture.md counts them.
struct InitialMemory {
  struct LongTerm {
    Tensor hidden;  // [n, d]
    Tensor key;     // [n, d_r]
    Tensor birth;   // [n], int64
  };
  Tensor short_term;                // [L, N, d]
  std::vector<LongTerm> long_term;  // [L] or empty
};

struct LoadedModel {
  Model model;  // without delta and memory parts in the files: model.memory.K is 0
  std::optional<InitialMemory> memory;
};

// Tensors are made in `dtype` (float, or double for checks) on the CPU; none asks for gradients yet.
LoadedModel load_model(const ModelFiles& files, torch::Dtype dtype = torch::kFloat32);

}  // namespace mplus::train
