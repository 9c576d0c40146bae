#include "tests/io/file_bytes.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "mplus/core/error.h"

namespace mplus::io::test {

Bytes to_bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(begin, begin + text.size());
}

Bytes safetensors_file(std::string_view header, std::string_view data) {
  std::string padded(header), out;
  padded.resize((padded.size() + 7) / 8 * 8, ' ');
  append(out, static_cast<std::uint64_t>(padded.size()));
  return to_bytes(out + padded.append(data));
}

std::string gguf_string(std::string_view text) {
  std::string out;
  append(out, static_cast<std::uint64_t>(text.size()));
  return out.append(text);
}

GgufBuilder& GgufBuilder::raw(std::string_view key, std::uint32_t type, std::string_view bytes) {
  pairs_ += gguf_string(key);
  append(pairs_, type);
  pairs_ += bytes;
  ++pair_count_;
  return *this;
}

GgufBuilder& GgufBuilder::number(std::string_view key, std::uint32_t value) {
  return raw(key, 4, {reinterpret_cast<const char*>(&value), sizeof value});
}
GgufBuilder& GgufBuilder::real(std::string_view key, float value) {
  return raw(key, 6, {reinterpret_cast<const char*>(&value), sizeof value});
}
GgufBuilder& GgufBuilder::text(std::string_view key, std::string_view value) {
  return raw(key, 8, gguf_string(value));
}
GgufBuilder& GgufBuilder::flag(std::string_view key, std::uint8_t value) {
  return raw(key, 7, {reinterpret_cast<const char*>(&value), sizeof value});
}
GgufBuilder& GgufBuilder::texts(std::string_view key, std::span<const std::string_view> values) {
  std::string bytes;
  append(bytes, std::uint32_t{8});
  append(bytes, static_cast<std::uint64_t>(values.size()));
  for (const auto value : values) bytes += gguf_string(value);
  return raw(key, 9, bytes);
}

GgufBuilder& GgufBuilder::tensor(std::string_view name, std::uint32_t type,
                                 std::span<const std::uint64_t> dims, std::string_view data,
                                 std::int64_t offset) {
  data_.resize((data_.size() + alignment - 1) / alignment * alignment);
  infos_ += gguf_string(name);
  append(infos_, static_cast<std::uint32_t>(dims.size()));
  for (const std::uint64_t n : dims) append(infos_, n);
  append(infos_, type);
  append(infos_, offset < 0 ? static_cast<std::uint64_t>(data_.size()) : static_cast<std::uint64_t>(offset));
  data_ += data;
  ++tensor_count_;
  return *this;
}

Bytes GgufBuilder::build() const {
  std::string out = "GGUF";
  append(out, version);
  append(out, tensor_count_ + more_tensors);
  append(out, pair_count_ + more_pairs);
  out += pairs_;
  out += infos_;
  if (tensor_count_ > 0) out.resize((out.size() + alignment - 1) / alignment * alignment);
  return to_bytes(out + data_);
}

void expect_every_cut_fails(const Bytes& file, const std::function<void(std::span<const std::byte>)>& read) {
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(read(cut), Error) << "cut at " << size << " of " << file.size();
  }
}

int flip_every_byte(const Bytes& file, const std::function<void(std::span<const std::byte>)>& read) {
  int refused = 0;
  Bytes changed = file;
  for (std::byte& byte : changed) {
    const std::byte kept = byte;
    for (const int mask : {0x01, 0x02, 0x10, 0x80, 0xff}) {
      byte = kept ^ static_cast<std::byte>(mask);
      try {
        read(changed);
      } catch (const Error&) {
        ++refused;
      }
    }
    byte = kept;
  }
  return refused;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "mplus_io_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp: " + name);
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

std::filesystem::path TemporaryFolder::write(std::string_view name, std::span<const std::byte> bytes) const {
  std::ofstream(path_ / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path_ / name;
}
std::filesystem::path TemporaryFolder::write(std::string_view name, std::string_view text) const {
  return write(name, std::as_bytes(std::span(text)));
}

}  // namespace mplus::io::test
