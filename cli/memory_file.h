// Opening models and memory files as the options say. A memory file that will be written is locked first, so
// that two processes cannot overwrite each other's work; reading needs no lock, for files are replaced as a
// whole.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "mplus/cli/options.h"
#include "mplus/core/file_lock.h"
#include "mplus/engine/session.h"

namespace mplus::cli {

// A model with the memory's form taken from options.file where that exists. `default_delta`: whether the
// default model gets the default delta when none is named.
std::unique_ptr<engine::Engine> open_engine(const ModelOptions& model, const MemoryOptions& memory,
                                            bool default_delta);

// For reading: the file's session, or an empty one where no file is named.
engine::Session open_session(engine::Engine& engine, const MemoryOptions& memory, std::uint64_t seed);

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

}  // namespace mplus::cli
