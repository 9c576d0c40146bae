// Files made in memory, byte by byte, valid or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::io::test {

using Bytes = std::vector<std::byte>;

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Exactly as large as text, so that a sanitizer sees one byte too many.
Bytes to_bytes(std::string_view text);

// A safetensors file: the length of the header, the header padded to 8 bytes, data.
Bytes safetensors_file(std::string_view header, std::string_view data);

// Builds GGUF; counts and version can be made to lie.
class GgufBuilder {
 public:
  GgufBuilder& number(std::string_view key, std::uint32_t value);
  GgufBuilder& real(std::string_view key, float value);
  GgufBuilder& text(std::string_view key, std::string_view value);
  GgufBuilder& flag(std::string_view key, std::uint8_t value);
  GgufBuilder& texts(std::string_view key, std::span<const std::string_view> values);
  GgufBuilder& raw(std::string_view key, std::uint32_t type, std::string_view bytes);
  // dims in GGUF's order; the data goes behind that of the tensor before it unless offset says otherwise.
  GgufBuilder& tensor(std::string_view name, std::uint32_t type, std::span<const std::uint64_t> dims,
                      std::string_view data, std::int64_t offset = -1);
  GgufBuilder& tensor(std::string_view name, std::uint32_t type, std::initializer_list<std::uint64_t> dims,
                      std::string_view data, std::int64_t offset = -1) {
    return tensor(name, type, std::span(dims.begin(), dims.size()), data, offset);
  }
  Bytes build() const;

  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::uint64_t more_tensors = 0;  // added to the count
  std::uint64_t more_pairs = 0;

 private:
  std::string pairs_, infos_, data_;
  std::uint64_t pair_count_ = 0, tensor_count_ = 0;
};

std::string gguf_string(std::string_view text);

// Calls read with every proper prefix of the file: each must throw Error, and nothing else may happen.
void expect_every_cut_fails(const Bytes& file, const std::function<void(std::span<const std::byte>)>& read);
// Calls read with every byte of the file changed in several ways: it may succeed or throw Error. Returns how
// many were refused.
int flip_every_byte(const Bytes& file, const std::function<void(std::span<const std::byte>)>& read);

// A folder that exists as long as this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(std::string_view name, std::span<const std::byte> bytes) const;
  std::filesystem::path write(std::string_view name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace mplus::io::test
