#include "mplus/core/files/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>

#include "mplus/core/error.h"

namespace mplus {
namespace {

[[noreturn]] void fail_errno(const std::filesystem::path& path, const char* what) {
  const int error = errno;
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  fail(code, "{}: {}: {}", path.string(), what, std::strerror(error));
}

// Every mapping, so that a signal handler can look through them. A slot is taken by setting `path`; `end` is
// set last and cleared first.
struct Mapping {
  std::atomic<const char*> path{nullptr};
  std::atomic<std::uintptr_t> begin{0}, end{0};
};
std::array<Mapping, 4096> mappings;
static_assert(std::atomic<const char*>::is_always_lock_free &&
              std::atomic<std::uintptr_t>::is_always_lock_free);

void list_mapping(const char* path, std::span<const std::byte> bytes) {
  for (Mapping& m : mappings) {
    const char* none = nullptr;
    if (!m.path.compare_exchange_strong(none, path)) continue;
    m.begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    m.end = m.begin + bytes.size();
    return;
  }
}

void unlist_mapping(std::span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  for (Mapping& m : mappings) {
    if (m.end == 0 || m.begin != begin) continue;
    m.end = 0;
    m.path = nullptr;
    return;
  }
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};  // a pipe is not waited for
  if (file.fd < 0) fail_errno(path, "cannot open");
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) fail_errno(path, "cannot stat");
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::io, "{}: not a regular file", path.string());
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->path_ = path;
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > 0) {
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
    if (memory == MAP_FAILED) fail_errno(path, "cannot map");
    mapped->bytes_ = {static_cast<const std::byte*>(memory), size};
    list_mapping(mapped->path_.c_str(), mapped->bytes_);
  }
  return mapped;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  unlist_mapping(bytes_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

const char* mapped_file_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Mapping& m : mappings)
    if (at < m.end && at >= m.begin) return m.path;
  return nullptr;
}

std::string read_text_file(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail_errno(path, "cannot open");
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(path, "cannot read");
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
}

std::filesystem::path temporary_name(const std::filesystem::path& file) {
  std::random_device random;
  for (;;) {
    std::filesystem::path name = file.string() + fmt::format(".tmp-{:06x}", random() & 0xffffff);
    struct stat info {};
    if (::lstat(name.c_str(), &info) != 0) return name;
  }
}

AtomicFile::AtomicFile(std::filesystem::path path, Readers readers) : path_(std::move(path)) {
  const mode_t mode = readers == Readers::owner ? 0600 : 0666;
  do {
    temporary_ = temporary_name(path_);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail_errno(path_, "cannot create a file beside it");
  }
  struct stat old {};
  if (readers == Readers::owner) {
    ::fchmod(descriptor_, mode);  // an umask may take rights from the owner, too
  } else if (::stat(path_.c_str(), &old) == 0) {
    ::fchmod(descriptor_, old.st_mode & 07777);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t size_bytes) {
  const char* at = static_cast<const char*>(data);
  while (size_bytes > 0) {
    const ssize_t put = ::write(descriptor_, at, std::min<std::size_t>(size_bytes, std::size_t{1} << 30));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_errno(path_, "cannot write");
    at += put;
    size_bytes -= static_cast<std::size_t>(put);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail_errno(path_, "cannot sync");
  const int fd = descriptor_;
  descriptor_ = -1;
  if (::close(fd) != 0) fail_errno(path_, "cannot close");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_errno(path_, "cannot rename into place");
  temporary_.clear();
  sync_folder_of(path_);
}

void sync_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const Descriptor directory{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (directory.fd < 0 || ::fsync(directory.fd) != 0) fail_errno(folder, "cannot sync the folder");
}

void write_text_file(const std::filesystem::path& path, std::string_view text, Readers readers) {
  AtomicFile file(path, readers);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace mplus
