// A file's bytes from first to last, unpacked on the way where they are xz or zstd: told by its first bytes,
// whatever it is called. Several packed streams in one file count as one. Used by one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace mplus::io {

class UnpackedFile {
 public:
  explicit UnpackedFile(const std::filesystem::path& file);
  ~UnpackedFile();
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;

  // Appends some more bytes; false at the end. A file that is cut off or damaged throws corrupt.
  bool append_to(std::string& out);

 private:
  class Decoder;
  class XzDecoder;
  class ZstdDecoder;
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void fill();
  bool copy(std::string& out);
  bool unpack(std::string& out);

  static constexpr std::size_t kBlock = std::size_t{1} << 16;
  std::string name_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::unique_ptr<Decoder> decoder_;  // none: the bytes as they are
  bool finished_ = false;
  std::array<std::uint8_t, kBlock> block_{};
  std::span<const std::uint8_t> waiting_;  // of the block, not used yet
};

}  // namespace mplus::io
