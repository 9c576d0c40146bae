#include "mplus/store/segment_file.h"

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>

#include "mplus/core/error.h"
#include "mplus/core/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/weights/safetensors.h"

namespace mplus::store {
namespace {

std::string layer_name(std::int64_t layer, const char* column) { return fmt::format("{}.{}", layer, column); }

std::string header_checksum(std::span<const std::byte> file, const std::filesystem::path& path) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) fail(ErrorCode::corrupt, "{}: too short for its header", path.string());
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length)
    fail(ErrorCode::corrupt, "{}: its header says {} bytes, the file has {}", path.string(), length,
         file.size());
  return fmt::format("{:016x}", io::xxh3(file.first(sizeof length + static_cast<std::size_t>(length))));
}

// The mapped file, and which of its tensors have been found sound.
class Mapping {
 public:
  Mapping(const std::filesystem::path& path, const SegmentFile& expected)
      : map_(MappedFile::open(path)), tensors_(checked(path, expected)) {}

  void start_checking(std::int64_t layers) {
    sound_ = std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(2 * layers));
  }
  void check(std::int64_t layer, memory::SegmentPart part) {
    const bool keys = part == memory::SegmentPart::retriever_keys;
    std::atomic<bool>& sound = sound_[static_cast<std::size_t>(2 * layer + (keys ? 1 : 0))];
    if (sound.load(std::memory_order_acquire)) return;
    if (keys) {
      engine::verify_tensor(tensors_, tensors_.at(layer_name(layer, "key")));
    } else {
      for (const char* column : {"k", "v", "hidden"})
        if (const io::Tensor* tensor = tensors_.find(layer_name(layer, column)))
          engine::verify_tensor(tensors_, *tensor);
    }
    sound.store(true, std::memory_order_release);
  }
  const io::Safetensors& tensors() const { return tensors_; }

 private:
  io::Safetensors checked(const std::filesystem::path& path, const SegmentFile& expected) const {
    const auto bytes = map_->bytes();
    if (static_cast<std::int64_t>(bytes.size()) != expected.size)
      fail(ErrorCode::corrupt, "{}: {} bytes expected, {} found", path.string(), expected.size, bytes.size());
    const std::string header = header_checksum(bytes, path);
    if (header != expected.header)
      fail(ErrorCode::corrupt,
           "{}: header checksum {} expected, {} found: the file is damaged or another one", path.string(),
           expected.header, header);
    io::Safetensors file = io::Safetensors::parse(bytes, path.string());
    const auto format = file.metadata().find("format"), version = file.metadata().find("version");
    if (format == file.metadata().end() || format->second != kSegmentFormat)
      fail(ErrorCode::corrupt, "{}: not a segment", path.string());
    if (version == file.metadata().end() || version->second != std::to_string(kSegmentVersion))
      fail(ErrorCode::unsupported, "{}: segment of a version this program does not know", path.string());
    return file;
  }

  std::shared_ptr<const MappedFile> map_;
  io::Safetensors tensors_;
  std::unique_ptr<std::atomic<bool>[]> sound_;
};

}  // namespace

std::string header_checksum(const std::filesystem::path& path) {
  return header_checksum(MappedFile::open(path)->bytes(), path);
}

SegmentFile write_segment(const std::filesystem::path& path, const memory::Layout& layout,
                          const std::vector<memory::Rows>& rows) {
  std::vector<io::TensorData> tensors;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView view = rows[static_cast<std::size_t>(l)].view();
    const auto n = static_cast<std::size_t>(view.n);
    const auto add = [&](const char* column, DType dtype, std::int64_t width, const void* data,
                         std::size_t bytes) {
      std::vector<std::int64_t> shape{view.n};
      if (width > 0) shape.push_back(width);
      tensors.push_back(
          {layer_name(l, column), dtype, std::move(shape), {static_cast<const std::byte*>(data), n * bytes}});
    };
    add("k", layout.dtype, layout.kv, view.k, layout.kv_bytes());
    add("v", layout.dtype, layout.kv, view.v, layout.kv_bytes());
    add("key", layout.dtype, layout.retriever, view.key, layout.key_bytes());
    add("birth", DType::i64, 0, view.birth, sizeof(std::int64_t));
    if (layout.keep_hidden) add("hidden", DType::f32, layout.hidden, view.hidden, layout.hidden_bytes());
  }
  io::StringMap metadata{{"format", kSegmentFormat},
                         {"version", std::to_string(kSegmentVersion)},
                         {"layers", std::to_string(layout.layers)},
                         {"K", std::to_string(layout.K)}};
  for (const io::TensorData& tensor : tensors)
    metadata["checksum." + tensor.name] = fmt::format("{:016x}", io::xxh3(tensor.bytes));
  io::write_safetensors(path, tensors, metadata);
  const auto map = MappedFile::open(path);
  return {path.filename().string(), static_cast<std::int64_t>(map->bytes().size()),
          header_checksum(map->bytes(), path)};
}

memory::LongTermStore::Replacement open_segment(const std::filesystem::path& path,
                                                const memory::Layout& layout, const SegmentFile& expected) {
  auto mapping = std::make_shared<Mapping>(path, expected);
  mapping->start_checking(layout.layers);
  std::vector<memory::RowsView> views;
  std::vector<std::int64_t> rows;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const io::Tensor& births = mapping->tensors().at(layer_name(l, "birth"));
    const std::int64_t n = births.elements();
    const auto column = [&](const char* name, DType dtype, std::vector<std::int64_t> shape) {
      const std::array<DType, 1> types{dtype};
      const io::Tensor& tensor = mapping->tensors().at(layer_name(l, name), types, shape);
      if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % 8 != 0)
        fail(ErrorCode::corrupt, "{}: tensor \"{}\" is not aligned to 8 bytes", path.string(), tensor.name);
      return tensor.bytes.data();
    };
    engine::verify_tensor(mapping->tensors(), births);
    memory::RowsView view{.n = n};
    view.birth = reinterpret_cast<const std::int64_t*>(column("birth", DType::i64, {n}));
    view.k = column("k", layout.dtype, {n, layout.kv});
    view.v = column("v", layout.dtype, {n, layout.kv});
    view.key = column("key", layout.dtype, {n, layout.retriever});
    if (layout.keep_hidden)
      view.hidden = reinterpret_cast<const float*>(column("hidden", DType::f32, {n, layout.hidden}));
    if (n > std::numeric_limits<std::int32_t>::max())
      fail(ErrorCode::corrupt, "{}: {} rows in a layer make no sense", path.string(), n);
    views.push_back(view);
    rows.push_back(n);
  }
  auto* checker = mapping.get();
  auto segment = std::make_shared<memory::Segment>(
      std::move(views), mapping,
      [checker](std::int64_t layer, memory::SegmentPart part) { checker->check(layer, part); });
  return {std::move(segment), std::move(rows)};
}

void verify_segment(const std::filesystem::path& path, const SegmentFile& expected) {
  const Mapping mapping(path, expected);
  for (const auto& [name, tensor] : mapping.tensors().tensors())
    engine::verify_tensor(mapping.tensors(), tensor);
}

}  // namespace mplus::store
