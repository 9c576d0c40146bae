#include "mplus/store/segments/segment_file.h"

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/store/segments/births.h"

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
      : map_(MappedFile::open(path)), tensors_(checked(path, expected)), format_(format_of()) {}

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

  memory::RowsView rows(const memory::Layout& layout, std::int64_t layer) {
    const std::span<const std::int64_t> born = births(layer);
    const std::int64_t n = std::ssize(born);
    if (n > std::numeric_limits<std::int32_t>::max())
      fail(ErrorCode::corrupt, "{}: {} rows in a layer make no sense", name(), n);
    const auto values = [&](const char* column_name, std::int64_t width, std::size_t bytes) {
      const bool plain = format_ == RowFormat::plain;
      return column(layer, column_name, plain ? layout.dtype : DType::u8,
                    {n, plain ? width : static_cast<std::int64_t>(bytes)});
    };
    memory::RowsView view{.birth = born.data(), .n = n, .format = format_};
    view.k = values("k", layout.kv, layout.kv_bytes(format_));
    view.v = values("v", layout.kv, layout.kv_bytes(format_));
    view.key = values("key", layout.retriever, layout.key_bytes(format_));
    if (layout.keep_hidden)
      view.hidden = reinterpret_cast<const float*>(column(layer, "hidden", DType::f32, {n, layout.hidden}));
    return view;
  }

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
    const auto format = file.metadata().find("format");
    if (format == file.metadata().end() || format->second != kSegmentFormat)
      fail(ErrorCode::corrupt, "{}: not a segment", path.string());
    return file;
  }

  RowFormat format_of() const {
    const io::StringMap& metadata = tensors_.metadata();
    const auto version = metadata.find("version"), rows = metadata.find("rows");
    if (version != metadata.end() && version->second == std::to_string(kSegmentVersion))
      return RowFormat::plain;
    if (version == metadata.end() || version->second != std::to_string(kSmallSegmentVersion))
      fail(ErrorCode::unsupported, "{}: segment of a version this program does not know", name());
    const auto format = rows == metadata.end() ? std::nullopt : row_format_from_name(rows->second);
    if (!format || *format == RowFormat::plain)
      fail(ErrorCode::unsupported, "{}: rows kept in a way this program does not know", name());
    return *format;
  }

  std::string name() const { return tensors_.path().string(); }

  const std::byte* column(std::int64_t layer, const char* name_of_column, DType dtype,
                          std::vector<std::int64_t> shape) const {
    const std::array<DType, 1> types{dtype};
    return tensors_.at(layer_name(layer, name_of_column), types, shape).bytes.data();
  }

  // Of a layer, verified: where they lie, or put together from their differences.
  std::span<const std::int64_t> births(std::int64_t layer) {
    const io::Tensor& tensor = tensors_.at(layer_name(layer, "birth"));
    engine::verify_tensor(tensors_, tensor);
    if (format_ == RowFormat::plain) {
      const std::int64_t n = tensor.elements();
      return {reinterpret_cast<const std::int64_t*>(column(layer, "birth", DType::i64, {n})),
              static_cast<std::size_t>(n)};
    }
    if (tensor.dtype != DType::u8 || tensor.shape.size() != 1)
      fail(ErrorCode::corrupt, "{}: tensor \"{}\": expected bytes", name(), tensor.name);
    auto numbers = births_of(tensor.bytes);
    if (!numbers) fail(ErrorCode::corrupt, "{}: tensor \"{}\": no list of births", name(), tensor.name);
    return births_.emplace_back(std::move(*numbers));
  }

  std::shared_ptr<const MappedFile> map_;
  io::Safetensors tensors_;
  RowFormat format_;
  std::deque<std::vector<std::int64_t>> births_;  // [L] of a small segment; their places stay
  std::unique_ptr<std::atomic<bool>[]> sound_;
};

}  // namespace

std::string header_checksum(const std::filesystem::path& path) {
  return header_checksum(MappedFile::open(path)->bytes(), path);
}

SegmentFile write_segment(const std::filesystem::path& path, const memory::Layout& layout,
                          const std::vector<memory::Rows>& rows) {
  const RowFormat format = rows.front().view().format;
  const bool plain = format == RowFormat::plain;
  std::vector<io::TensorData> tensors;
  std::vector<std::vector<std::byte>> births;
  births.reserve(rows.size());  // so that nothing moves
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView view = rows[static_cast<std::size_t>(l)].view();
    MPLUS_CHECK(view.format == format, "layer {}: {} rows", l, row_format_name(view.format));
    const auto n = static_cast<std::size_t>(view.n);
    const auto add = [&](const char* column, std::int64_t width, const std::byte* data, std::size_t bytes) {
      tensors.push_back({layer_name(l, column),
                         plain ? layout.dtype : DType::u8,
                         {view.n, plain ? width : static_cast<std::int64_t>(bytes)},
                         {data, n * bytes}});
    };
    add("k", layout.kv, view.k, layout.kv_bytes(format));
    add("v", layout.kv, view.v, layout.kv_bytes(format));
    add("key", layout.retriever, view.key, layout.key_bytes(format));
    const std::span<const std::int64_t> numbers(view.birth, n);
    if (plain) {
      tensors.push_back({layer_name(l, "birth"), DType::i64, {view.n}, std::as_bytes(numbers)});
    } else {
      const auto& bytes = births.emplace_back(birth_differences(numbers));
      tensors.push_back({layer_name(l, "birth"), DType::u8, {std::ssize(bytes)}, bytes});
    }
    if (layout.keep_hidden)
      tensors.push_back({layer_name(l, "hidden"),
                         DType::f32,
                         {view.n, layout.hidden},
                         {reinterpret_cast<const std::byte*>(view.hidden), n * layout.hidden_bytes()}});
  }
  io::StringMap metadata{{"format", kSegmentFormat},
                         {"version", std::to_string(plain ? kSegmentVersion : kSmallSegmentVersion)},
                         {"layers", std::to_string(layout.layers)},
                         {"K", std::to_string(layout.K)}};
  if (!plain) metadata["rows"] = std::string(row_format_name(format));
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
    views.push_back(mapping->rows(layout, l));
    rows.push_back(views.back().n);
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
