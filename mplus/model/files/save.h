// Writes what load.h reads: a base model as a Hugging Face folder, a delta, a published M+ or MemoryLLM
// checkpoint. Element types are f32, bf16 or f16, for a delta also i8 (rows with a scale); without one given
// tensors keep theirs, and quantised ones become f32, which loses nothing.
#pragma once

#include <filesystem>
#include <optional>

#include "mplus/memory/memory.h"
#include "mplus/model/weights.h"

namespace mplus::model {

// config.json and model.safetensors. The folder must not exist; it appears complete or not at all.
void save_base(const Weights& weights, const std::filesystem::path& folder, std::optional<DType> dtype = {});

// The weights' memory parts: adapters, bos and positional vectors, retriever.
void save_delta(const Weights& weights, const std::filesystem::path& file, std::optional<DType> dtype = {});

// The published layout, with `memory` where given: its hidden states must have been kept and its slots be
// full.
void save_published(const Weights& weights, const memory::Memory* memory, const std::filesystem::path& folder,
                    std::optional<DType> dtype = {});

// A delta file in another element type. Metadata and vectors stay as they are. Of its memories those of
// `layers` are kept, and of a write the last `rows` in each: what it read in the others it misses until it is
// trained again.
void convert_delta(const std::filesystem::path& from, const std::filesystem::path& to, DType dtype,
                   const LayerSet& layers = {}, std::optional<std::int64_t> rows = {});

}  // namespace mplus::model
