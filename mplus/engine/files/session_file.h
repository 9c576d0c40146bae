// A session in one safetensors file: memory, window, texts and counters (docs/formats.md, "Memory file"); a
// later process that loads it gives the same next token. A state file is the same without long-term rows and
// texts, which a store keeps once for many states. Python's safetensors opens both. Every tensor has a
// checksum in the metadata; long-term rows stay in the mapped file and are verified by verify_session_file(),
// everything else when it is loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mplus/engine/session.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/memory/long_term.h"

namespace mplus::engine {

inline constexpr const char* kSessionFormat = "mplus-memory";
inline constexpr const char* kStateFormat = "mplus-state";
inline constexpr int kSessionFormatVersion = 1;
inline constexpr int kSmallRowsFormatVersion =
    2;  // of files with rows in few bits, or of memories that make them

// What a store writes into a file beside the session itself.
struct FileExtras {
  io::StringMap metadata = {};
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> integers = {};
  std::vector<std::pair<std::string, std::string>> bytes = {};
};

// What a state file leaves out.
struct StateParts {
  std::vector<memory::LongTermStore::Replacement> segments;
  std::vector<std::shared_ptr<const Source>> sources;
};

void save_session_file(const Session& session, const std::filesystem::path& path,
                       const FileExtras& extras = {});
void save_state_file(const Session& session, const std::filesystem::path& path, const FileExtras& extras);
// Of a file nobody vouches for; the engine's model must be the one it was made with.
Session load_session_file(Engine& engine, const std::filesystem::path& path);
Session load_state_file(Engine& engine, const io::Safetensors& file, StateParts parts);

// What stands in the metadata, readable without a model.
struct SessionFileInfo {
  int version = 0;
  std::string shape_id, weights_id, numerics_id, dtype;  // dtype: as memory_type_name() spells it
  MemoryType type;
  std::vector<RowFormat> long_term;  // formats of its runs of long-term rows, oldest first
  std::int64_t layers = 0, K = 0, N = 0;
  std::int64_t updates = 0, turns = 0, sources = 0, window_tokens = 0;
  std::int64_t short_term_rows = 0, long_term_rows = 0;  // a layer, at most
  std::uint64_t seed = 0;
};

bool is_session_file(const io::Safetensors& file);
bool is_state_file(const io::Safetensors& file);
SessionFileInfo session_file_info(
    const io::Safetensors& file);                       // throws corrupt / unsupported naming the field
void verify_session_file(const io::Safetensors& file);  // every checksum; throws corrupt naming the tensor
void verify_tensor(const io::Safetensors& file, const io::Tensor& tensor);
// A tensor of 64-bit integers, [n] or [n, width], verified.
std::vector<std::int64_t> read_integers(const io::Safetensors& file, const std::string& name,
                                        std::int64_t width = 1);
std::string read_bytes(const io::Safetensors& file, const std::string& name);  // U8 [n], verified

// Where a run of a layer's long-term rows lies in a memory file: "long_term.3.", behind the first
// "long_term.3.1.".
std::string long_term_prefix(std::int64_t layer, std::size_t run);

// The same session with keys and values of another type: f32 from bf16 loses nothing, the other way rounds.
// Small rows are made of plain ones only.
void convert_session_file(const std::filesystem::path& from, const std::filesystem::path& to,
                          const MemoryType& type);

}  // namespace mplus::engine
