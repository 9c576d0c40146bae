#include "mplus/io/weights/safetensors_writer.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "mplus/core/error.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"

namespace mplus::io {
namespace {

void check_writable(const TensorData& tensor, std::string_view file) {
  const auto size = tensor_size_bytes(tensor.dtype, tensor.shape);
  if (is_quantised(tensor.dtype))
    fail(ErrorCode::unsupported, "{}: tensor {}: type {} has no name in safetensors", file,
         shown(tensor.name), dtype_name(tensor.dtype));
  if (!size || *size != tensor.bytes.size())
    fail(ErrorCode::invalid_argument, "{}: tensor {}: {} {}: expected {} bytes, found {}", file,
         shown(tensor.name), dtype_name(tensor.dtype), shape_text(tensor.shape), size.value_or(0),
         tensor.bytes.size());
  if (tensor.name == "__metadata__" || !valid_utf8(tensor.name))
    fail(ErrorCode::invalid_argument, "{}: tensor {}: not a possible name", file, shown(tensor.name));
}

std::vector<const TensorData*> file_order(std::span<const TensorData> tensors, std::string_view file) {
  std::vector<const TensorData*> order;
  std::set<std::string_view> names;
  for (const TensorData& tensor : tensors) {
    check_writable(tensor, file);
    if (!names.insert(tensor.name).second)
      fail(ErrorCode::invalid_argument, "{}: tensor {}: given twice", file, shown(tensor.name));
    order.push_back(&tensor);
  }
  // Falling element sizes: every tensor then starts at a multiple of its own element.
  std::ranges::sort(order, [](const TensorData* a, const TensorData* b) {
    const auto sa = block_bytes(a->dtype), sb = block_bytes(b->dtype);
    return sa != sb ? sa > sb : a->name < b->name;
  });
  return order;
}

std::string metadata_json(const StringMap& metadata, std::string_view file) {
  Json json = Json::object();
  for (const auto& [key, value] : metadata) {
    if (!valid_utf8(key) || !valid_utf8(value))
      fail(ErrorCode::invalid_argument, "{}: metadata {}: not UTF-8", file, shown(key));
    json[key] = value;
  }
  return json.dump();
}

std::string header_json(std::span<const TensorData* const> order, const StringMap& metadata,
                        std::string_view file) {
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + metadata_json(metadata, file);
  std::uint64_t at = 0;
  for (const TensorData* tensor : order) {
    const std::uint64_t end = at + tensor->bytes.size();
    if (text.size() > 1) text += ',';
    // Entry by entry, to stand in file order: a Json object would sort them by name.
    text += Json(tensor->name).dump() + ':' +
            nlohmann::ordered_json{
                {"dtype", dtype_name(tensor->dtype)}, {"shape", tensor->shape}, {"data_offsets", {at, end}}}
                .dump();
    at = end;
  }
  return text + '}';
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors,
                       const StringMap& metadata, Readers readers) {
  const auto order = file_order(tensors, path.string());
  std::string header = header_json(order, metadata, path.string());
  std::uint64_t length = 0;
  header.resize((sizeof length + header.size() + kAlignment - 1) / kAlignment * kAlignment - sizeof length,
                ' ');
  length = header.size();
  AtomicFile file(path, readers);
  file.write(&length, sizeof length);
  file.write(header.data(), header.size());
  for (const TensorData* tensor : order) file.write(tensor->bytes);
  file.commit();
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorData> tensors,
                       const StringMap& metadata) {
  write_safetensors(path, tensors, metadata, Readers::owner);
}

}  // namespace mplus::io
