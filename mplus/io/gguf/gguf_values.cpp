// What callers ask of an opened GGUF file.
#include <limits>

#include "mplus/io/gguf/gguf_content.h"
#include "mplus/io/gguf/gguf_cursor.h"
#include "mplus/io/text/names.h"
#include "mplus/io/weights/tensor_lookup.h"

namespace mplus::io {
namespace {

[[noreturn]] void wrong_kind(const Gguf& file, std::string_view key, std::string_view expected) {
  fail(ErrorCode::corrupt, "{}: metadata {}: expected {}, found another kind of value", file.path().string(),
       shown(key), expected);
}

const Gguf::Array& array_at(const Gguf& file, std::string_view key, const Gguf::Value& value,
                            std::string_view expected) {
  const auto* array = std::get_if<Gguf::Array>(&value);
  if (array == nullptr) wrong_kind(file, key, expected);
  return *array;
}

// One number of an array as a T, or nothing if it is of another kind or does not fit.
template <class T, class Stored>
std::optional<T> number_as(const std::byte* at) {
  Stored n;
  std::memcpy(&n, at, sizeof n);
  if constexpr (std::is_integral_v<T> && std::is_integral_v<Stored>)
    if (!std::in_range<T>(n)) return std::nullopt;
  return static_cast<T>(n);
}

std::optional<std::int32_t> i32_at(Gguf::Type type, const std::byte* at) {
  switch (type) {
    case Gguf::Type::u8:
      return number_as<std::int32_t, std::uint8_t>(at);
    case Gguf::Type::i8:
      return number_as<std::int32_t, std::int8_t>(at);
    case Gguf::Type::u16:
      return number_as<std::int32_t, std::uint16_t>(at);
    case Gguf::Type::i16:
      return number_as<std::int32_t, std::int16_t>(at);
    case Gguf::Type::u32:
      return number_as<std::int32_t, std::uint32_t>(at);
    case Gguf::Type::i32:
      return number_as<std::int32_t, std::int32_t>(at);
    case Gguf::Type::u64:
      return number_as<std::int32_t, std::uint64_t>(at);
    case Gguf::Type::i64:
      return number_as<std::int32_t, std::int64_t>(at);
    default:
      return std::nullopt;
  }
}

std::optional<float> f32_at(Gguf::Type type, const std::byte* at) {
  if (type == Gguf::Type::f32) return number_as<float, float>(at);
  if (type == Gguf::Type::f64) return number_as<float, double>(at);
  return std::nullopt;
}

}  // namespace

const Tensor* Gguf::find(std::string_view name) const { return find_tensor(content_->tensors, name); }

const Tensor& Gguf::at(std::string_view name) const {
  return tensor_at(content_->tensors, path().string(), name);
}

const Tensor& Gguf::at(std::string_view name, std::initializer_list<DType> dtypes,
                       std::initializer_list<std::int64_t> shape) const {
  return at(name, std::span(dtypes.begin(), dtypes.size()), std::span(shape.begin(), shape.size()));
}

const Tensor& Gguf::at(std::string_view name, std::span<const DType> dtypes,
                       std::span<const std::int64_t> shape) const {
  const Tensor& tensor = at(name);
  check_tensor(tensor, path().string(), dtypes, shape);
  return tensor;
}

const TensorMap& Gguf::tensors() const { return content_->tensors; }
const Gguf::Metadata& Gguf::metadata() const { return content_->metadata; }
std::uint32_t Gguf::version() const { return content_->version; }
std::shared_ptr<const void> Gguf::owner() const { return content_; }
const std::filesystem::path& Gguf::path() const { return content_->path; }

const Gguf::Value* Gguf::find_metadata(std::string_view key) const {
  const auto at = content_->metadata.find(key);
  return at == content_->metadata.end() ? nullptr : &at->second;
}

std::optional<std::uint64_t> Gguf::get_u64(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* n = std::get_if<std::uint64_t>(value)) return *n;
  const auto* n = std::get_if<std::int64_t>(value);
  if (n == nullptr || *n < 0) wrong_kind(*this, key, "an integer >= 0");
  return static_cast<std::uint64_t>(*n);
}

std::optional<std::int64_t> Gguf::get_i64(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* n = std::get_if<std::int64_t>(value)) return *n;
  const auto* n = std::get_if<std::uint64_t>(value);
  if (n == nullptr || !std::in_range<std::int64_t>(*n)) wrong_kind(*this, key, "an integer below 2^63");
  return static_cast<std::int64_t>(*n);
}

std::optional<double> Gguf::get_f64(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* x = std::get_if<double>(value)) return *x;
  if (const auto* n = std::get_if<std::uint64_t>(value)) return static_cast<double>(*n);
  if (const auto* n = std::get_if<std::int64_t>(value)) return static_cast<double>(*n);
  wrong_kind(*this, key, "a number");
}

std::optional<bool> Gguf::get_bool(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  const auto* b = std::get_if<bool>(value);
  if (b == nullptr) wrong_kind(*this, key, "a boolean");
  return *b;
}

std::optional<std::string> Gguf::get_string(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string_view>(value);
  if (text == nullptr) wrong_kind(*this, key, "a string");
  return std::string(*text);
}

std::optional<std::vector<std::string>> Gguf::get_strings(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  const Array& array = array_at(*this, key, *value, "an array of strings");
  if (array.type != Type::string) wrong_kind(*this, key, "an array of strings");
  const std::string file = path().string();
  GgufCursor in(array.bytes, file);
  std::vector<std::string> out;
  out.reserve(array.count);
  for (std::uint64_t i = 0; i < array.count; ++i) out.emplace_back(in.string(key));
  return out;
}

std::optional<std::vector<std::int32_t>> Gguf::get_i32s(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  const Array& array = array_at(*this, key, *value, "an array of integers");
  std::vector<std::int32_t> out(array.count);
  for (std::uint64_t i = 0; i < array.count; ++i) {
    const auto n = i32_at(array.type, array.bytes.data() + i * gguf_type_bytes(array.type));
    if (!n) wrong_kind(*this, key, "an array of 32-bit integers");
    out[i] = *n;
  }
  return out;
}

std::optional<std::vector<float>> Gguf::get_f32s(std::string_view key) const {
  const Value* value = find_metadata(key);
  if (value == nullptr) return std::nullopt;
  const Array& array = array_at(*this, key, *value, "an array of floats");
  std::vector<float> out(array.count);
  for (std::uint64_t i = 0; i < array.count; ++i) {
    const auto x = f32_at(array.type, array.bytes.data() + i * gguf_type_bytes(array.type));
    if (!x) wrong_kind(*this, key, "an array of floats");
    out[i] = *x;
  }
  return out;
}

}  // namespace mplus::io
