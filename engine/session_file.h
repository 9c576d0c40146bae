// A session in one safetensors file: memory, window, texts and counters (docs/formats.md, "Memory file").
// Python's safetensors opens it. Every tensor has a checksum in the metadata; long-term rows stay in the
// mapped file and are verified by verify_session_file(), everything else when it is loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "mplus/io/safetensors.h"

namespace mplus::engine {

inline constexpr const char* kSessionFormat = "mplus-memory";
inline constexpr int kSessionFormatVersion = 1;

// What stands in the metadata, readable without a model.
struct SessionFileInfo {
  int version = 0;
  std::string shape_id, weights_id, numerics_id, dtype;
  std::int64_t layers = 0, K = 0, N = 0;
  std::int64_t updates = 0, turns = 0, sources = 0, window_tokens = 0;
  std::int64_t short_term_rows = 0, long_term_rows = 0;  // of layer 0
  std::uint64_t seed = 0;
};

bool is_session_file(const io::Safetensors& file);
SessionFileInfo session_file_info(
    const io::Safetensors& file);                       // throws corrupt / unsupported naming the field
void verify_session_file(const io::Safetensors& file);  // every checksum; throws corrupt naming the tensor

// The same session with keys and values of another type: f32 from bf16 loses nothing, the other way rounds.
void convert_session_file(const std::filesystem::path& from, const std::filesystem::path& to, DType dtype);

}  // namespace mplus::engine
