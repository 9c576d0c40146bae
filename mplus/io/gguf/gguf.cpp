#include "mplus/io/gguf/gguf.h"

#include <algorithm>
#include <bit>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/gguf/gguf_content.h"
#include "mplus/io/gguf/gguf_cursor.h"
#include "mplus/io/text/names.h"

namespace mplus::io {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kLargestAlignment = 1 << 20;
constexpr std::uint32_t kMostDims = 4;
constexpr std::uint64_t kLeastPairBytes = 8 + 1 + 4 + 1;        // key length, key, type, value
constexpr std::uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;  // name length, name, dims, type, offset

// Names of ggml's types, by number, for messages about those that are not supported.
constexpr std::string_view kTypeNames[] = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  "Q4_2",     "Q4_3",     "Q5_0",     "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",     "Q6_K",     "Q8_K",     "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S",    "IQ4_XS",   "I8",       "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",   "TQ2_0"};

struct TensorInfo {
  Tensor tensor;
  std::uint64_t offset = 0;  // from the start of the data
  std::uint64_t size_bytes = 0;
};

void read_header(GgufCursor& in, Gguf::Content& content, std::uint64_t& tensors, std::uint64_t& pairs) {
  const auto magic = in.number<std::uint32_t>("magic");
  if (magic != kMagic) in.fail_at("magic", "\"GGUF\"", fmt::format("0x{:08x}: no GGUF file", magic));
  content.version = in.number<std::uint32_t>("version");
  if (content.version != 2 && content.version != 3)
    fail(ErrorCode::unsupported, "{}: version: expected 2 or 3, found {}{}", in.file(), content.version,
         (content.version & 0xffff) == 0 ? " (a big-endian file?)" : "");
  tensors = in.number<std::uint64_t>("tensor count");
  pairs = in.number<std::uint64_t>("metadata count");
  // Counts are believed only as far as the file is long.
  if (pairs > in.left() / kLeastPairBytes)
    in.fail_at("metadata count", fmt::format("at most {} in this file", in.left() / kLeastPairBytes),
               fmt::format("{}", pairs));
  if (tensors > in.left() / kLeastTensorBytes)
    in.fail_at("tensor count", fmt::format("at most {} in this file", in.left() / kLeastTensorBytes),
               fmt::format("{}", tensors));
}

std::string read_name(GgufCursor& in, std::string_view what) {
  const std::string_view name = in.string(what);
  if (name.empty() || !valid_utf8(name)) in.fail_at(what, "a name in UTF-8", shown(name));
  return std::string(name);
}

void read_metadata(GgufCursor& in, Gguf::Metadata& metadata, std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    const std::string key = read_name(in, fmt::format("key of metadata {}", i));
    Gguf::Value value = in.value("metadata " + shown(key));
    if (!metadata.emplace(key, value).second)
      fail(ErrorCode::corrupt, "{}: metadata {}: appears twice", in.file(), shown(key));
  }
}

DType read_dtype(GgufCursor& in, const std::string& label) {
  const auto number = in.number<std::uint32_t>(label);
  const std::string_view name = number < std::size(kTypeNames) ? kTypeNames[number] : "unknown";
  const auto dtype = dtype_from_name(name);
  if (!dtype)
    fail(ErrorCode::unsupported,
         "{}: {}: expected type F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K, found {} "
         "(number {})",
         in.file(), label, name, number);
  return *dtype;
}

TensorInfo read_info(GgufCursor& in, std::uint64_t index, std::uint64_t alignment) {
  TensorInfo info;
  info.tensor.name = read_name(in, fmt::format("name of tensor {}", index));
  const std::string label = "tensor " + shown(info.tensor.name);
  const auto dims = in.number<std::uint32_t>(label);
  if (dims > kMostDims) in.fail_at(label, fmt::format("at most {} dims", kMostDims), fmt::format("{}", dims));
  for (std::uint32_t i = 0; i < dims; ++i) {
    const auto n = in.number<std::uint64_t>(label);
    if (n > static_cast<std::uint64_t>(INT64_MAX)) in.fail_at(label, "dims below 2^63", fmt::format("{}", n));
    info.tensor.shape.insert(info.tensor.shape.begin(), static_cast<std::int64_t>(n));
  }
  info.tensor.dtype = read_dtype(in, label);
  const auto size = tensor_size_bytes(info.tensor.dtype, info.tensor.shape);
  if (!size)
    in.fail_at(label, fmt::format("a shape that {} can have", dtype_name(info.tensor.dtype)),
               shape_text(info.tensor.shape));
  info.size_bytes = *size;
  info.offset = in.number<std::uint64_t>(label);
  if (info.offset % alignment != 0)
    in.fail_at(label, fmt::format("an offset that is a multiple of {}", alignment),
               fmt::format("{}", info.offset));
  return info;
}

std::uint64_t read_alignment(const Gguf::Metadata& metadata, std::string_view file) {
  const auto at = metadata.find("general.alignment");
  if (at == metadata.end()) return kDefaultAlignment;
  const auto* n = std::get_if<std::uint64_t>(&at->second);
  if (n == nullptr || !std::has_single_bit(*n) || *n < 8 || *n > kLargestAlignment)
    fail(ErrorCode::corrupt,
         "{}: metadata 'general.alignment': expected a power of two from 8 to {}, found {}", file,
         kLargestAlignment, n == nullptr ? "another kind of value" : fmt::format("{}", *n));
  return *n;
}

std::uint64_t aligned(std::uint64_t n, std::uint64_t alignment) {
  return (n + alignment - 1) / alignment * alignment;
}

// Tensors lie one behind the other, each at the next multiple of the alignment, and fill the file.
void place_tensors(std::vector<TensorInfo>& infos, std::span<const std::byte> data, std::uint64_t alignment,
                   std::string_view file) {
  std::ranges::sort(infos, [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.offset, a.size_bytes) < std::pair(b.offset, b.size_bytes);
  });
  std::uint64_t at = 0;
  for (TensorInfo& info : infos) {
    const std::string label = shown(info.tensor.name);
    if (info.offset > data.size() || info.size_bytes > data.size() - info.offset)
      fail(ErrorCode::corrupt,
           "{}: tensor {}: expected {} bytes at offset {} of the data, found {} bytes of data: truncated?",
           file, label, info.size_bytes, info.offset, data.size());
    if (info.offset != at)
      fail(ErrorCode::corrupt, "{}: tensor {}: expected offset {}, behind the tensor before it, found {}: {}",
           file, label, at, info.offset, info.offset < at ? "they overlap" : "there is a gap");
    info.tensor.bytes = data.subspan(info.offset, info.size_bytes);
    if (reinterpret_cast<std::uintptr_t>(data.data()) % 8 != 0)
      fail(ErrorCode::invalid_argument, "{}: expected bytes at a multiple of 8 in memory", file);
    at = aligned(info.offset + info.size_bytes, alignment);
  }
  if (data.size() > at)
    fail(ErrorCode::corrupt, "{}: data: expected {} bytes, found {}: bytes that belong to no tensor", file,
         at, data.size());
}

}  // namespace

std::shared_ptr<Gguf::Content> Gguf::read(std::span<const std::byte> bytes, std::string_view name) {
  auto content = std::make_shared<Content>();
  content->path = name;
  GgufCursor in(bytes, name);
  std::uint64_t tensors = 0, pairs = 0;
  read_header(in, *content, tensors, pairs);
  read_metadata(in, content->metadata, pairs);
  const std::uint64_t alignment = read_alignment(content->metadata, name);
  std::vector<TensorInfo> infos;
  for (std::uint64_t i = 0; i < tensors; ++i) infos.push_back(read_info(in, i, alignment));
  const std::uint64_t start = std::min<std::uint64_t>(aligned(in.position(), alignment), bytes.size());
  place_tensors(infos, bytes.subspan(start), alignment, name);
  for (TensorInfo& info : infos) {
    const std::string key = info.tensor.name;
    if (!content->tensors.emplace(key, std::move(info.tensor)).second)
      fail(ErrorCode::corrupt, "{}: tensor {}: appears twice", name, shown(key));
  }
  return content;
}

Gguf Gguf::parse(std::span<const std::byte> bytes, std::string_view name) { return Gguf(read(bytes, name)); }

Gguf Gguf::open(const std::filesystem::path& path) {
  auto mapped = MappedFile::open(path);
  auto content = read(mapped->bytes(), path.string());
  content->mapped = std::move(mapped);
  return Gguf(std::move(content));
}

}  // namespace mplus::io
