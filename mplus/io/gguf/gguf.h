// GGUF versions 2 and 3, little-endian, one file: typed metadata and tensors, mapped and not copied.
// Immutable, cheap to copy, safe to share between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mplus/io/weights/tensor.h"

namespace mplus::io {

class Gguf {
 public:
  enum class Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

  // An array stays in the file until it is asked for; its extent has been checked.
  struct Array {
    Type type = Type::u8;
    std::uint64_t count = 0;
    std::span<const std::byte> bytes;
  };
  // Integers widened to 64 bits, floats to double; strings look into the file.
  using Value = std::variant<bool, std::uint64_t, std::int64_t, double, std::string_view, Array>;
  using Metadata = std::map<std::string, Value, std::less<>>;

  struct Content;  // this room's own

  static Gguf open(const std::filesystem::path& path);
  // Reads bytes that someone else keeps alive. name only serves the messages.
  static Gguf parse(std::span<const std::byte> bytes, std::string_view name);

  const Tensor* find(std::string_view name) const;  // nullptr if absent
  const Tensor& at(std::string_view name) const;    // throws not_found naming file and tensor
  const Tensor& at(std::string_view name, std::initializer_list<DType> dtypes,
                   std::initializer_list<std::int64_t> shape) const;
  const Tensor& at(std::string_view name, std::span<const DType> dtypes,
                   std::span<const std::int64_t> shape) const;
  // Shapes are row-major, GGUF's dims reversed. Rows of q and k are in the file's order (unpermute_rows).
  const TensorMap& tensors() const;

  const Metadata& metadata() const;
  const Value* find_metadata(std::string_view key) const;  // nullptr if absent
  // Absent key: nullopt. A value of another kind (or an integer that does not fit): throws, naming the key.
  std::optional<std::uint64_t> get_u64(std::string_view key) const;
  std::optional<std::int64_t> get_i64(std::string_view key) const;
  std::optional<double> get_f64(std::string_view key) const;
  std::optional<bool> get_bool(std::string_view key) const;
  std::optional<std::string> get_string(std::string_view key) const;
  std::optional<std::vector<std::string>> get_strings(std::string_view key) const;
  std::optional<std::vector<std::int32_t>> get_i32s(std::string_view key) const;
  std::optional<std::vector<float>> get_f32s(std::string_view key) const;

  std::uint32_t version() const;
  std::shared_ptr<const void> owner() const;  // keeps the mapping alive
  const std::filesystem::path& path() const;

 private:
  explicit Gguf(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  static std::shared_ptr<Content> read(std::span<const std::byte> bytes, std::string_view name);
  std::shared_ptr<const Content> content_;
};

}  // namespace mplus::io
