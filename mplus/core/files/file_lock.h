// The right to write something, held by one process at a time through a lock file. The operating system lets
// go of it when the process ends, however it ends, so a lock is never stale; the file says who holds it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace mplus {

class FileLock {
 public:
  // `what` is to be written, for the message that names the holder if another process has the lock (io).
  FileLock(const std::filesystem::path& file, const std::string& what);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;

  // Who holds it now: "process 4711 (mplus chat) since 2026-11-15 12:00:00"; nothing if nobody does.
  static std::optional<std::string> owner(const std::filesystem::path& file);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace mplus
