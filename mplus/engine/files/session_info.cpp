// What a session's file says of itself, and its tensors one by one. See session_file.h.
#include <algorithm>
#include <charconv>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/engine/files/metadata_checksum.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"

namespace mplus::engine {
namespace {

using Reader = io::Safetensors;

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of counts

std::string name_of(const Reader& file) { return file.path().string(); }

const std::string& field(const Reader& file, const char* name) {
  const auto at = file.metadata().find(name);
  if (at == file.metadata().end())
    fail(ErrorCode::corrupt, "{}: metadata field \"{}\" is missing", name_of(file), name);
  return at->second;
}

template <class T>
T number(const Reader& file, const char* name) {
  const std::string& text = field(file, name);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    fail(ErrorCode::corrupt, "{}: metadata field \"{}\": expected a number, found \"{}\"", name_of(file),
         name, text);
  return value;
}

std::int64_t count(const Reader& file, const char* name) {
  const auto value = number<std::int64_t>(file, name);
  if (value < 0 || value > kMost)
    fail(ErrorCode::corrupt, "{}: metadata field \"{}\": {} makes no sense", name_of(file), name, value);
  return value;
}

[[noreturn]] void senseless(const Reader& file, const char* tensor, const char* what) {
  fail(ErrorCode::corrupt, "{}: tensor \"{}\": {}", name_of(file), tensor, what);
}

// Version 1 knows plain rows only, and does not say so. A type that nobody knows fits no engine.
void read_formats(const Reader& file, SessionFileInfo& info) {
  const auto unknown = [&](const char* name) {
    fail(ErrorCode::unsupported, "{}: metadata field \"{}\": \"{}\" is not known", name_of(file), name,
         field(file, name));
  };
  const auto type = memory_type_from_name(info.dtype);
  if (!type) unknown("dtype");
  info.type = *type;
  if (info.version == kSessionFormatVersion) {
    if (type->long_term != RowFormat::plain) unknown("dtype");
    info.long_term = {RowFormat::plain};
    return;
  }
  const std::string& runs = field(file, "long_term");
  for (std::size_t begin = 0; begin <= runs.size();) {
    const std::size_t end = std::min(runs.find(',', begin), runs.size());
    const auto format = row_format_from_name(std::string_view(runs).substr(begin, end - begin));
    if (!format) unknown("long_term");
    info.long_term.push_back(*format);
    begin = end + 1;
  }
}

}  // namespace

void verify_tensor(const Reader& file, const io::Tensor& tensor) {
  const auto expected = field(file, ("checksum." + tensor.name).c_str());
  const std::string found = fmt::format("{:016x}", io::xxh3(tensor.bytes));
  if (expected != found)
    fail(ErrorCode::corrupt, "{}: tensor \"{}\": checksum {} expected, {} found: the file is damaged",
         name_of(file), tensor.name, expected, found);
}

std::string metadata_checksum(const io::StringMap& metadata) {
  std::string bytes;
  for (const auto& [key, value] : metadata)
    if (key != kMetadataChecksum) bytes += fmt::format("{} {} {} {} ", key.size(), key, value.size(), value);
  return fmt::format("{:016x}", io::xxh3(std::as_bytes(std::span(bytes))));
}

std::vector<std::int64_t> read_integers(const Reader& file, const std::string& name, std::int64_t width) {
  const io::Tensor& tensor = file.at(name);
  const bool fits =
      tensor.dtype == DType::i64 &&
      (width == 1 ? tensor.shape.size() == 1 : tensor.shape.size() == 2 && tensor.shape[1] == width);
  if (!fits)
    fail(ErrorCode::corrupt, "{}: tensor \"{}\": expected I64 of width {}, found {} {}", name_of(file), name,
         width, dtype_name(tensor.dtype), io::shape_text(tensor.shape));
  verify_tensor(file, tensor);
  std::vector<std::int64_t> values(tensor.bytes.size() / sizeof(std::int64_t));
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), reinterpret_cast<std::byte*>(values.data()));
  return values;
}

std::string read_bytes(const Reader& file, const std::string& name) {
  const io::Tensor& tensor = file.at(name);
  if (tensor.dtype != DType::u8 || tensor.shape.size() != 1) senseless(file, name.c_str(), "expected bytes");
  verify_tensor(file, tensor);
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

bool is_state_file(const io::Safetensors& file) {
  const auto at = file.metadata().find("format");
  return at != file.metadata().end() && at->second == kStateFormat;
}

bool is_session_file(const io::Safetensors& file) {
  const auto at = file.metadata().find("format");
  return at != file.metadata().end() && at->second == kSessionFormat;
}

SessionFileInfo session_file_info(const io::Safetensors& file) {
  const bool state = is_state_file(file);
  if (!is_session_file(file) && !state)
    fail(ErrorCode::corrupt, "{}: not a memory file: metadata field \"format\" is not \"{}\"", name_of(file),
         kSessionFormat);
  SessionFileInfo info;
  info.version = static_cast<int>(count(file, "version"));
  if (info.version != kSessionFormatVersion && info.version != kSmallRowsFormatVersion)
    fail(ErrorCode::unsupported, "{}: memory file of version {}; this program reads versions {} and {}",
         name_of(file), info.version, kSessionFormatVersion, kSmallRowsFormatVersion);
  if (const auto expected = file.metadata().find(kMetadataChecksum); expected != file.metadata().end())
    if (const std::string found = metadata_checksum(file.metadata()); found != expected->second)
      fail(ErrorCode::corrupt, "{}: metadata: checksum {} expected, {} found: the file is damaged",
           name_of(file), expected->second, found);
  info.shape_id = field(file, "shape_id");
  info.weights_id = field(file, "weights_id");
  info.numerics_id = field(file, "numerics_id");
  info.dtype = field(file, "dtype");
  read_formats(file, info);
  info.layers = count(file, "layers");
  info.K = count(file, "K");
  info.N = count(file, "N");
  info.updates = count(file, "updates");
  info.turns = count(file, "turns");
  info.seed = number<std::uint64_t>(file, "seed");
  info.sources = state ? count(file, "sources") : file.at("sources").elements() / 3;
  info.window_tokens = file.at("window.tokens").elements() / 5;
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.ends_with(".birth")) continue;
    std::int64_t& most = name.starts_with("short_term.") ? info.short_term_rows : info.long_term_rows;
    most = std::max(most, tensor.elements());
  }
  return info;
}

void verify_session_file(const io::Safetensors& file) {
  session_file_info(file);
  for (const auto& [name, tensor] : file.tensors()) verify_tensor(file, tensor);
}

}  // namespace mplus::engine
