#include "mplus/core/files/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/files/private_file.h"

namespace mplus {
namespace {

namespace fs = std::filesystem;

std::string own_description() {
  std::string command(1, '?');
  try {
    command = read_text_file("/proc/self/cmdline");
  } catch (const Error&) {  // for people only
  }
  std::string words;  // program and subcommand say enough; the rest may hold what people asked
  int count = 0;
  for (const char* at = command.c_str(); *at && count < 2; at += std::strlen(at) + 1, ++count) {
    if (count > 0) words.push_back(' ');
    words.append(fs::path(at).filename().string());
  }
  std::erase_if(words, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &local);
  return fmt::format("process {} ({}) since {}", ::getpid(), words, time);
}

std::string read_description(int descriptor) {
  char text[512];
  const ssize_t got = ::pread(descriptor, text, sizeof text, 0);
  std::string words(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  std::erase_if(words, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return words.empty() ? "another process" : words;
}

// Whoever asks for the owner holds the lock for an instant, too: not a reason to give up.
bool take(int descriptor) {
  for (int tries = 0; tries < 10; ++tries) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(10'000);
  }
  return false;
}

}  // namespace

FileLock::FileLock(const fs::path& file, const std::string& what) : file_(file) {
  for (;;) {
    descriptor_ = open_private(file, O_RDWR | O_CREAT);
    if (descriptor_ < 0) fail(ErrorCode::io, "{}: cannot open: {}", file.string(), std::strerror(errno));
    if (!take(descriptor_)) {
      const std::string holder = read_description(descriptor_);
      ::close(descriptor_);
      fail(ErrorCode::io, "{} is being written by {}; wait for it to end", what, holder);
    }
    // The holder before may have removed the file between our opening and our locking it: then ours is a lock
    // on nothing.
    struct stat ours {
    }, there{};
    if (::fstat(descriptor_, &ours) == 0 && ::stat(file.c_str(), &there) == 0 && ours.st_ino == there.st_ino)
      break;
    ::close(descriptor_);
  }
  const std::string words = own_description();
  if (::ftruncate(descriptor_, 0) == 0) {
    const ssize_t written = ::pwrite(descriptor_, words.data(), words.size(), 0);
    static_cast<void>(written);  // for people only: a full disk must not keep anyone from reading
  }
}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

std::optional<std::string> FileLock::owner(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::string> holder;
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0) holder = read_description(descriptor);
  ::close(descriptor);
  return holder;
}

}  // namespace mplus
