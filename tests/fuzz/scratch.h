// A folder in memory for readers that want files: they open what the target writes there. One per process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "mplus/core/error.h"

namespace mplus::io::test {

class Scratch {
 public:
  Scratch() {
    std::error_code ignored;
    const bool shared_memory = std::filesystem::is_directory("/dev/shm", ignored);
    const std::filesystem::path parent = shared_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    folder_ = parent / fmt::format("mplus_fuzz_{}", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  // A new file each time: what an earlier input left mapped must not change under it.
  std::filesystem::path write(const std::string& name, std::span<const std::byte> bytes) const {
    const std::filesystem::path path = folder_ / name;
    ::unlink(path.c_str());
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    MPLUS_CHECK(file >= 0, "{}", path.string());
    const auto written = ::write(file, bytes.data(), bytes.size());
    ::close(file);
    MPLUS_CHECK(written == static_cast<ssize_t>(bytes.size()), "{} of {}", written, bytes.size());
    return path;
  }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    return write(name, std::as_bytes(std::span(text)));
  }

 private:
  std::filesystem::path folder_;
};

inline const Scratch& scratch() {
  static const Scratch folder;
  return folder;
}

}  // namespace mplus::io::test
