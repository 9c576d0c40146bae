#include "mplus/io/weights/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"

namespace mplus::io {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are used as they lie in the file");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the limit of the format's own library
constexpr std::string_view kMetadata = "__metadata__";

// Where a tensor lies, counted from the end of the header.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view name;
};

[[noreturn]] void bad_tensor(std::string_view file, std::string_view name, std::string_view what) {
  fail(ErrorCode::corrupt, "{}: tensor {}: {}", file, shown(name), what);
}

std::string_view header_text(std::span<const std::byte> bytes, std::string_view file) {
  if (bytes.size() < kLengthBytes)
    fail(ErrorCode::corrupt,
         "{}: header length: expected {} bytes, found {}: truncated, or no safetensors file", file,
         kLengthBytes, bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  const std::size_t rest = bytes.size() - kLengthBytes;
  if (length > kLargestHeader)
    fail(ErrorCode::corrupt, "{}: header length: expected at most {}, found {}: no safetensors file?", file,
         kLargestHeader, length);
  if (length > rest)
    fail(ErrorCode::corrupt, "{}: header: expected {} bytes, found {}: truncated, or no safetensors file",
         file, length, rest);
  return {reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, static_cast<std::size_t>(length)};
}

StringMap read_metadata(const Json& json, std::string_view file) {
  if (!json.is_object())
    fail(ErrorCode::corrupt, "{}: __metadata__: expected an object, found {}", file, json.type_name());
  StringMap out;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      fail(ErrorCode::corrupt, "{}: __metadata__: key {}: expected a string, found {}", file, shown(key),
           value.type_name());
    out.emplace(key, value.get<std::string>());
  }
  return out;
}

DType read_dtype(const Json& entry, std::string_view file, std::string_view name) {
  const auto at = entry.find("dtype");
  if (at == entry.end() || !at->is_string()) bad_tensor(file, name, "expected a string 'dtype', found none");
  const auto dtype = dtype_from_name(at->get_ref<const std::string&>());
  if (!dtype || is_quantised(*dtype))
    fail(ErrorCode::unsupported,
         "{}: tensor {}: expected type F32, F16, BF16, I64, I32, I8, U8 or BOOL, found {}", file, shown(name),
         shown(at->get_ref<const std::string&>()));
  return *dtype;
}

std::vector<std::int64_t> read_shape(const Json& entry, std::string_view file, std::string_view name) {
  const auto at = entry.find("shape");
  if (at == entry.end() || !at->is_array()) bad_tensor(file, name, "expected a list 'shape', found none");
  std::vector<std::int64_t> shape;
  for (const Json& dim : *at) {
    if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
      bad_tensor(file, name,
                 "shape: expected dims from 0 to 2^63-1, found " + shown(dim.dump(-1, ' ', true)));
    shape.push_back(dim.get<std::int64_t>());
  }
  return shape;
}

Extent read_extent(const Json& entry, std::string_view file, std::string_view name,
                   std::uint64_t data_bytes) {
  const auto at = entry.find("data_offsets");
  if (at == entry.end() || !at->is_array() || at->size() != 2 || !(*at)[0].is_number_unsigned() ||
      !(*at)[1].is_number_unsigned())
    bad_tensor(file, name, "expected 'data_offsets' of two non-negative integers, found none");
  const Extent extent{(*at)[0].get<std::uint64_t>(), (*at)[1].get<std::uint64_t>(), name};
  if (extent.begin > extent.end || extent.end > data_bytes)
    bad_tensor(
        file, name,
        fmt::format("data_offsets: expected begin <= end <= {} (the data's size), found [{}, {}]{}",
                    data_bytes, extent.begin, extent.end, extent.end > data_bytes ? ": truncated?" : ""));
  return extent;
}

Tensor read_tensor(const Json& entry, std::string_view file, std::string_view name,
                   std::span<const std::byte> data, std::size_t data_start, Extent& extent) {
  if (!entry.is_object())
    bad_tensor(file, name, fmt::format("expected an object, found {}", entry.type_name()));
  Tensor tensor{std::string(name), read_dtype(entry, file, name), read_shape(entry, file, name), {}};
  extent = read_extent(entry, file, name, data.size());
  const auto size = tensor_size_bytes(tensor.dtype, tensor.shape);
  if (!size) bad_tensor(file, name, "shape " + shape_text(tensor.shape) + ": too large");
  if (*size != extent.end - extent.begin)
    bad_tensor(file, name,
               fmt::format("{} {}: expected {} bytes, found data_offsets of {}", dtype_name(tensor.dtype),
                           shape_text(tensor.shape), *size, extent.end - extent.begin));
  tensor.bytes = data.subspan(extent.begin, *size);
  if (*size > 0 && reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % block_bytes(tensor.dtype) != 0)
    fail(ErrorCode::unsupported,
         "{}: tensor {}: expected {} data at a multiple of {} bytes in the file, found its data_offsets at "
         "{} and "
         "the data at {}; save it again with a current safetensors library",
         file, shown(name), dtype_name(tensor.dtype), block_bytes(tensor.dtype), extent.begin, data_start);
  return tensor;
}

// The format allows neither overlaps nor gaps: what no tensor covers could hide anything.
void check_cover(std::vector<Extent> extents, std::uint64_t data_bytes, std::string_view file) {
  std::ranges::sort(extents, [](const Extent& a, const Extent& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t at = 0;
  for (const Extent& e : extents) {
    if (e.begin != at)
      bad_tensor(
          file, e.name,
          fmt::format("data_offsets: expected to begin at {}, where the one before it ends, found {}: {}", at,
                      e.begin, e.begin < at ? "they overlap" : "there is a gap"));
    at = e.end;
  }
  if (at != data_bytes)
    fail(ErrorCode::corrupt, "{}: data: expected {} bytes, found {}: bytes that belong to no tensor", file,
         at, data_bytes);
}

}  // namespace

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, std::string_view file_name) {
  const std::string_view header = header_text(bytes, file_name);
  const auto data = bytes.subspan(kLengthBytes + header.size());
  const Json json = parse_json(header, file_name);
  if (!json.is_object())
    fail(ErrorCode::corrupt, "{}: header: expected a JSON object, found {}", file_name, json.type_name());
  SafetensorsContent content;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : json.items()) {
    if (name == kMetadata) {
      content.metadata = read_metadata(entry, file_name);
      continue;
    }
    Extent extent;
    Tensor tensor = read_tensor(entry, file_name, name, data, bytes.size() - data.size(), extent);
    const auto [at, fresh] = content.tensors.emplace(name, std::move(tensor));
    MPLUS_CHECK(fresh, "{}", name);
    extent.name = at->first;
    extents.push_back(extent);
  }
  check_cover(std::move(extents), data.size(), file_name);
  return content;
}

}  // namespace mplus::io
