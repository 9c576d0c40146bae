// The memory a command works on: a session of the store, a memory file, or one that ends with the process.
// What will be written is locked first, so that two processes cannot overwrite each other's work; reading
// needs no lock.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "mplus/cli/options.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/engine/session.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::cli {

inline constexpr const char* kDefaultSession = "default";

// A model with the memory's form taken from the session or file that is named, where it exists.
// `default_delta`: whether the default model gets the default delta when none is named.
std::unique_ptr<engine::Engine> open_engine(const ModelOptions& model, const MemoryOptions& memory,
                                            bool default_delta);

// Sessions live here; made when first written to. For reading, write access is not needed.
store::Store open_store(store::Access access = store::Access::write);

// Settles what --memory and --session ask for. Where they are silent: the default session, if `fallback` says
// so and, for reading, there is one.
enum class Fallback { none, existing_session, session };
void choose_memory(MemoryOptions& memory, Fallback fallback);

// The right to write a memory file, held until the end of its life.
class MemoryLock {
 public:
  explicit MemoryLock(const std::filesystem::path& file);  // throws io if another process holds it

  const std::filesystem::path& file() const { return file_; }  // links followed
  // The session to go on with: the file's, or a new one.
  engine::Session open(engine::Engine& engine, std::uint64_t seed) const;

 private:
  std::filesystem::path file_;
  FileLock lock_;
};

class OpenMemory {
 public:
  // `memory` names a session or a file, or neither.
  OpenMemory(engine::Engine& engine, const MemoryOptions& memory, std::uint64_t seed, store::Access access);

  const engine::Session& session() const { return stored_ ? stored_->session() : *session_; }
  store::StoredSession* stored() { return stored_.get(); }  // null: not in the store
  store::Store& store() { return *store_; }
  bool lasts() const { return stored_ || file_; }
  // A session of the store goes on from here in this process alone; the store keeps it as it was.
  void stop_storing();

  engine::RememberResult remember(const engine::Document& document, const engine::Progress& progress);
  engine::Answer say(std::string_view message, const engine::GenerateOptions& options);
  void set_system_message(std::string_view text);
  std::int64_t flush();
  void note_recall(const engine::Answer& answer);
  // The words of what was written take part in recall; options are for reads of this memory as it is now.
  void serve_words(engine::GenerateOptions& options);

  void save();  // a file is written; the store has everything already
  // What is on disk now.
  std::int64_t disk_bytes();
  std::string name() const;  // "session notes", "my.safetensors"

 private:
  MemoryOptions options_;
  std::optional<MemoryLock> file_;
  std::optional<store::Store> store_;
  std::unique_ptr<store::StoredSession> stored_;
  std::optional<engine::Session> session_;
  std::optional<store::TextIndex> words_;  // of what is not in the store
};

}  // namespace mplus::cli
