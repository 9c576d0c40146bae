// The safetensors format: an 8-byte little-endian header length, a JSON header, then the tensors' bytes.
// Readers map the file and copy nothing. A Safetensors is immutable, cheap to copy and safe to share between
// threads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/weights/tensor.h"

namespace mplus::io {

struct SafetensorsContent {
  TensorMap tensors;
  StringMap metadata;
};

// Reads one file's bytes; the tensors look into them. file_name only serves the messages.
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, std::string_view file_name);

class Safetensors {
 public:
  // A file, an index file (*.safetensors.index.json), or a folder that holds model.safetensors or, else,
  // model.safetensors.index.json.
  static Safetensors open(const std::filesystem::path& path);
  // Reads bytes that someone else keeps alive. name only serves the messages.
  static Safetensors parse(std::span<const std::byte> bytes, std::string_view name);

  const Tensor* find(std::string_view name) const;  // nullptr if absent
  const Tensor& at(std::string_view name) const;    // throws not_found naming file and tensor
  // The same, checked as in check_tensor().
  const Tensor& at(std::string_view name, std::initializer_list<DType> dtypes,
                   std::initializer_list<std::int64_t> shape) const;
  const Tensor& at(std::string_view name, std::span<const DType> dtypes,
                   std::span<const std::int64_t> shape) const;

  const TensorMap& tensors() const;
  const StringMap& metadata() const;
  std::shared_ptr<const void> owner() const;  // keeps the mapping(s) alive
  const std::filesystem::path& path() const;  // what was opened
  // Every file that was mapped, in name order; the index file is not among them.
  const std::vector<std::filesystem::path>& files() const;

 private:
  struct Content;
  explicit Safetensors(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

struct TensorData {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

// Writes one file atomically. Tensors are stored by falling element size, then by name, as Python's library
// does, and the first starts at a multiple of 64 bytes; quantised GGUF types are refused (the format has no
// name for them). The same content always gives the same bytes.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors,
                       const StringMap& metadata);

}  // namespace mplus::io
