// Opening safetensors files: one file, or a set of shards through its index.
#include <algorithm>
#include <set>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/io/weights/tensor_lookup.h"

namespace mplus::io {

namespace fs = std::filesystem;

struct Safetensors::Content {
  fs::path path;
  SafetensorsContent content;
  std::vector<fs::path> files;
  std::vector<std::shared_ptr<const MappedFile>> mapped;

  // With a weight_map, each tensor must stand in the one shard the index names.
  void add_file(const fs::path& file, const StringMap* weight_map) {
    mapped.push_back(MappedFile::open(file));
    files.push_back(file);
    SafetensorsContent part = parse_safetensors(mapped.back()->bytes(), file.string());
    for (auto& [name, tensor] : part.tensors) {
      if (weight_map != nullptr) check_place(*weight_map, name, file);
      content.tensors.emplace(name, std::move(tensor));
    }
    content.metadata.merge(part.metadata);
  }

  void check_place(const StringMap& weight_map, const std::string& name, const fs::path& shard) const {
    const auto at = weight_map.find(name);
    if (at == weight_map.end() || at->second != shard.filename())
      fail(ErrorCode::corrupt, "{}: tensor {}: expected in {} by the index, found in {}", path.string(),
           shown(name), at == weight_map.end() ? "no file" : shown(at->second),
           shown(shard.filename().string()));
  }
};

namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

fs::path file_in_folder(const fs::path& folder) {
  for (const std::string_view name : {kSingle, kIndex})
    if (fs::exists(folder / name)) return folder / name;
  fail(ErrorCode::not_found, "{}: expected {} or {} in this folder, found neither", folder.string(), kSingle,
       kIndex);
}

// Tensor name → shard's file name. A shard lies beside its index: a name that leads elsewhere is refused.
StringMap read_index(const fs::path& index) {
  const std::string file = index.string();
  const Json json = parse_json(read_text_file(index), file);
  const auto map = JsonFields(json, file).object("weight_map");
  if (!map) fail(ErrorCode::corrupt, "{}: weight_map: expected an object, found nothing", file);
  StringMap out;
  for (const auto& [name, shard] : json["weight_map"].items()) {
    const bool text = shard.is_string();
    const std::string& shard_name = text ? shard.get_ref<const std::string&>() : name;
    const bool plain = text && !shard_name.empty() &&
                       shard_name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos &&
                       shard_name != "..";
    if (!plain)
      fail(ErrorCode::corrupt,
           "{}: weight_map: tensor {}: expected the name of a file beside the index, found {}", file,
           shown(name), text ? shown(shard_name) : shard.type_name());
    out.emplace(name, shard_name);
  }
  return out;
}

}  // namespace

Safetensors Safetensors::open(const fs::path& path) {
  auto content = std::make_shared<Content>();
  content->path = path;
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? file_in_folder(path) : path;
  if (!file.string().ends_with(".index.json")) {
    content->add_file(file, nullptr);
    return Safetensors(content);
  }
  const StringMap weight_map = read_index(file);
  std::set<std::string> shards;
  for (const auto& [name, shard] : weight_map) shards.insert(shard);
  for (const std::string& shard : shards) {
    const fs::path shard_path = file.parent_path() / shard;
    if (!fs::exists(shard_path, ignored))
      fail(ErrorCode::not_found, "{}: weight_map: expected shard {} beside the index, found no such file",
           file.string(), shown(shard));
    content->add_file(shard_path, &weight_map);
  }
  for (const auto& [name, shard] : weight_map)
    if (!content->content.tensors.contains(name))
      fail(ErrorCode::corrupt, "{}: tensor {}: expected in {}, found in no shard", file.string(), shown(name),
           shown(shard));
  return Safetensors(content);
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, std::string_view name) {
  auto content = std::make_shared<Content>();
  content->path = name;
  content->content = parse_safetensors(bytes, name);
  return Safetensors(content);
}

const Tensor* Safetensors::find(std::string_view name) const { return find_tensor(tensors(), name); }

const Tensor& Safetensors::at(std::string_view name) const {
  return tensor_at(tensors(), path().string(), name);
}

const Tensor& Safetensors::at(std::string_view name, std::initializer_list<DType> dtypes,
                              std::initializer_list<std::int64_t> shape) const {
  return at(name, std::span(dtypes.begin(), dtypes.size()), std::span(shape.begin(), shape.size()));
}

const Tensor& Safetensors::at(std::string_view name, std::span<const DType> dtypes,
                              std::span<const std::int64_t> shape) const {
  const Tensor& tensor = at(name);
  check_tensor(tensor, path().string(), dtypes, shape);
  return tensor;
}

const TensorMap& Safetensors::tensors() const { return content_->content.tensors; }
const StringMap& Safetensors::metadata() const { return content_->content.metadata; }
std::shared_ptr<const void> Safetensors::owner() const { return content_; }
const fs::path& Safetensors::path() const { return content_->path; }
const std::vector<fs::path>& Safetensors::files() const { return content_->files; }

}  // namespace mplus::io
