// Files as this program uses them: mapped for reading, replaced as a whole for writing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mplus {

// A read-only mapping; lives as long as anyone holds it.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// The path of the mapped file that holds this address, or null. For a signal handler: a file that is cut
// short while it is mapped is a SIGBUS for whoever reads it. Takes no lock; knows the first few thousand
// mappings.
const char* mapped_file_at(const void* address) noexcept;

std::string read_text_file(const std::filesystem::path& path);

// Who may read a file that is made.
enum class Readers {
  owner,     // nobody else (0600): what memories and sessions hold
  by_umask,  // as of any file, or as of the one that is replaced: models, reports
};

// Replaces a file atomically: written under a temporary name beside it, synced, renamed, folder synced. If
// anything fails the old file is untouched and the temporary one removed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path, Readers readers = Readers::owner);
  ~AtomicFile();  // without commit(): as if nothing had happened
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size_bytes);
  void write(std::span<const std::byte> bytes) { write(bytes.data(), bytes.size()); }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

void write_text_file(const std::filesystem::path& path, std::string_view text,
                     Readers readers = Readers::owner);  // as AtomicFile does

// A name beside a file that nobody uses: "notes.tmp-1f9c03".
std::filesystem::path temporary_name(const std::filesystem::path& file);
void sync_folder_of(const std::filesystem::path& file);  // a new name in it lasts; throws io

}  // namespace mplus
