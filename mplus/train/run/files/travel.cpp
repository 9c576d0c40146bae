#include "mplus/train/run/files/travel.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/json.h"
#include "mplus/io/weights/safetensors_writer.h"
#include "mplus/train/run/files/packed_moments.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFormat = "mplus-travel-1";
constexpr const char* kList = "travel.json";
constexpr std::string_view kFirst = ".first_moment", kSecond = ".second_moment", kSteps = ".steps";
constexpr std::int64_t kListBytes = 1 << 16;  // more than travel.json takes
constexpr std::int64_t kSmall = 1 << 16;      // numbers of a tensor that stays in float32

using Bytes = std::vector<std::byte>;

// A run of numbers as it stands in the pieces.
struct Entry {
  std::string name;
  DType dtype;
  Bytes bytes;
  std::int64_t elements() const { return static_cast<std::int64_t>(bytes.size() / block_bytes(dtype)); }
};

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::span<const float> floats(const io::Tensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.bytes.data()), static_cast<std::size_t>(tensor.elements())};
}

bool is_moment(std::string_view name) { return name.ends_with(kFirst) || name.ends_with(kSecond); }
std::string owner_of(std::string_view name, std::string_view ending) {
  return std::string(name.substr(0, name.size() - ending.size()));
}

std::vector<Entry> entries(const io::Safetensors& file, int bits) {
  std::vector<Entry> list;
  for (const auto& [name, tensor] : file.tensors()) {
    io::check_tensor(tensor, file.path().string(), std::vector{DType::f32}, tensor.shape);
    if (name.ends_with(kFirst) && bits > 0) {
      const std::string owner = owner_of(name, kFirst);
      PackedMoments packed =
          pack_moments(floats(tensor), floats(file.at(owner + std::string(kSecond))), bits);
      list.push_back({owner + ".root", DType::u8, bytes_of(packed.root)});
      list.push_back({owner + ".root_scale", DType::f32, bytes_of(packed.root_scale)});
      list.push_back({owner + ".ratio", DType::u8, bytes_of(packed.ratio)});
      list.push_back({owner + ".ratio_scale", DType::f32, bytes_of(packed.ratio_scale)});
    } else if (!is_moment(name) && tensor.elements() > kSmall) {
      std::vector<std::uint16_t> half;
      for (const float x : floats(tensor)) half.push_back(f32_to_bf16(x));
      list.push_back({name, DType::bf16, bytes_of(half)});
    } else if (!is_moment(name)) {
      list.push_back({name, DType::f32, Bytes(tensor.bytes.begin(), tensor.bytes.end())});
    }
  }
  return list;
}

// More than a safetensors header takes for one entry.
std::int64_t header_bytes(const Entry& entry) { return static_cast<std::int64_t>(entry.name.size()) + 120; }

std::int64_t total_bytes(const std::vector<Entry>& list) {
  std::int64_t sum = 0;
  for (const Entry& e : list) sum += static_cast<std::int64_t>(e.bytes.size()) + header_bytes(e);
  return sum;
}

// Entries one after another, cut where a piece is full: part of a tensor is "name@number of its first
// element".
std::vector<std::vector<io::TensorData>> cut(const std::vector<Entry>& list, std::int64_t piece_bytes) {
  std::vector<std::vector<io::TensorData>> pieces;
  constexpr std::int64_t kFileHeader = 1024;
  std::int64_t room = 0;
  for (const Entry& e : list) {
    const auto size = static_cast<std::int64_t>(block_bytes(e.dtype));
    for (std::int64_t first = 0; first < e.elements();) {
      std::int64_t fit = (room - header_bytes(e)) / size;
      if (fit <= 0) {
        pieces.emplace_back();
        room = piece_bytes - kFileHeader;
        fit = (room - header_bytes(e)) / size;
        MPLUS_CHECK(fit > 0, "pieces of {} bytes", piece_bytes);
      }
      const std::int64_t n = std::min(fit, e.elements() - first);
      pieces.back().push_back({fmt::format("{}@{}", e.name, first),
                               e.dtype,
                               {n},
                               std::span(e.bytes).subspan(static_cast<std::size_t>(first * size),
                                                          static_cast<std::size_t>(n * size))});
      first += n;
      room -= header_bytes(e) + n * size;
    }
  }
  return pieces;
}

struct List {
  int bits = 0;
  io::StringMap metadata;                                   // of the checkpoint
  std::map<std::string, std::vector<std::int64_t>> shapes;  // of the checkpoint's tensors
  struct PieceFile {
    std::string file, sha256;
  };
  std::vector<PieceFile> pieces;
};

List read_list(const fs::path& folder) {
  const fs::path path = folder / kList;
  const io::Json json = io::parse_json(read_text_file(path), path.string());
  List list;
  try {
    if (json.at("format") != kFormat)
      fail(ErrorCode::unsupported, "{}: expected format {}, found {}", path.string(), kFormat,
           json.at("format").dump());
    list.bits = json.at("moment_bits").get<int>();
    for (const auto& [key, value] : json.at("checkpoint").items())
      list.metadata[key] = value.get<std::string>();
    for (const auto& [name, shape] : json.at("tensors").items())
      list.shapes[name] = shape.get<std::vector<std::int64_t>>();
    for (const io::Json& piece : json.at("pieces"))
      list.pieces.push_back({piece.at("file").get<std::string>(), piece.at("sha256").get<std::string>()});
  } catch (const io::Json::exception& e) {
    fail(ErrorCode::corrupt, "{}: {}", path.string(), e.what());
  }
  if (list.bits != 0 && list.bits != 4 && list.bits != 8)
    fail(ErrorCode::corrupt, "{}: moment_bits: expected 0, 4 or 8, found {}", path.string(), list.bits);
  for (const List::PieceFile& piece : list.pieces)
    if (fs::path(piece.file).filename() != piece.file || piece.file.empty())
      fail(ErrorCode::corrupt, "{}: '{}' is no name of a piece", path.string(), piece.file);
  return list;
}

void write_list(const fs::path& folder, const List& list) {
  io::Json json = {{"format", kFormat},
                   {"moment_bits", list.bits},
                   {"checkpoint", list.metadata},
                   {"tensors", list.shapes},
                   {"pieces", io::Json::array()}};
  for (const List::PieceFile& piece : list.pieces)
    json["pieces"].push_back({{"file", piece.file}, {"sha256", piece.sha256}});
  write_text_file(folder / kList, json.dump(1) + '\n', Readers::by_umask);
}

// Every entry of all pieces, put together again.
std::map<std::string, Bytes> read_pieces(const fs::path& folder, const List& list) {
  struct EntryPart {
    std::int64_t first;
    std::span<const std::byte> bytes;
  };
  std::map<std::string, std::vector<EntryPart>> parts;
  std::vector<io::Safetensors> files;
  for (const List::PieceFile& piece : list.pieces) {
    const fs::path path = folder / piece.file;
    if (!fs::exists(path))
      fail(ErrorCode::not_found, "{}: this piece is missing; {} names {} of them", path.string(), kList,
           list.pieces.size());
    if (const std::string found = io::sha256_hex(path); found != piece.sha256)
      fail(ErrorCode::corrupt, "{}: this piece is damaged: expected SHA-256 {}, found {}", path.string(),
           piece.sha256, found);
    const io::Safetensors& file = files.emplace_back(io::Safetensors::open(path));
    for (const auto& [name, tensor] : file.tensors()) {
      const std::size_t at = name.rfind('@');
      std::int64_t first = -1;
      if (at != name.npos) std::from_chars(name.data() + at + 1, name.data() + name.size(), first);
      if (first < 0) fail(ErrorCode::corrupt, "{}: '{}': expected a name and a number", path.string(), name);
      parts[name.substr(0, at)].push_back({first, tensor.bytes});
    }
  }
  std::map<std::string, Bytes> whole;
  for (auto& [name, of_name] : parts) {
    std::sort(of_name.begin(), of_name.end(),
              [](const EntryPart& a, const EntryPart& b) { return a.first < b.first; });
    for (const EntryPart& part : of_name) {
      Bytes& bytes = whole[name];
      bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
    }
  }
  return whole;
}

// A checkpoint's tensors out of what the pieces hold.
class Unpacked {
 public:
  Unpacked(const fs::path& folder, const List& list)
      : folder_(folder), list_(list), held_(read_pieces(folder, list)) {
    for (const auto& [name, shape] : list.shapes)
      if (!is_moment(name)) unpack_weights(name);
    for (const auto& [name, shape] : list.shapes)
      if (name.ends_with(kFirst)) unpack_moments_of(owner_of(name, kFirst));
  }

  std::vector<io::TensorData> tensors() const {
    std::vector<io::TensorData> out;
    for (const auto& [name, shape] : list_.shapes)
      out.push_back({name, DType::f32, shape, std::as_bytes(std::span(values_.at(name)))});
    return out;
  }

 private:
  template <class T>
  std::span<const T> held(const std::string& name, std::size_t expected) const {
    const auto found = held_.find(name);
    const std::size_t bytes = found == held_.end() ? 0 : found->second.size();
    if (bytes != expected * sizeof(T))
      fail(ErrorCode::corrupt, "{}: '{}': expected {} bytes in its pieces, found {}", folder_.string(), name,
           expected * sizeof(T), bytes);
    return {reinterpret_cast<const T*>(bytes ? found->second.data() : nullptr), expected};
  }
  std::size_t size(const std::string& name) const {
    const auto shape = list_.shapes.find(name);
    const auto n = shape == list_.shapes.end() ? std::nullopt : io::element_count(shape->second);
    if (!n) fail(ErrorCode::corrupt, "{}: '{}' has no shape", (folder_ / kList).string(), name);
    return static_cast<std::size_t>(*n);
  }
  void unpack_weights(const std::string& name) {
    const std::size_t n = size(name);
    std::vector<float>& values = values_[name];
    if (n > static_cast<std::size_t>(kSmall)) {
      for (const std::uint16_t half : held<std::uint16_t>(name, n)) values.push_back(bf16_to_f32(half));
    } else {
      const std::span<const float> same = held<float>(name, n);
      values.assign(same.begin(), same.end());
    }
    if (list_.bits == 0 && name.ends_with(kSteps)) values.assign(n, 0);  // as if none had been made
  }
  void unpack_moments_of(const std::string& owner) {
    const std::size_t n = size(owner);
    std::vector<float>& first = values_[owner + std::string(kFirst)];
    std::vector<float>& second = values_[owner + std::string(kSecond)];
    first.resize(n);
    second.resize(n);
    if (list_.bits == 0) return;
    const std::size_t codes = packed_codes(n, list_.bits), blocks = packed_blocks(n);
    unpack_moments({.root = held<std::uint8_t>(owner + ".root", codes),
                    .ratio = held<std::uint8_t>(owner + ".ratio", codes),
                    .root_scale = held<float>(owner + ".root_scale", blocks),
                    .ratio_scale = held<float>(owner + ".ratio_scale", blocks)},
                   list_.bits, first, second);
  }

  fs::path folder_;
  const List& list_;
  std::map<std::string, Bytes> held_;
  std::map<std::string, std::vector<float>> values_;
};

}  // namespace

TravelSize pack_checkpoint(const fs::path& checkpoint, const fs::path& folder, const TravelLimits& limits) {
  const io::Safetensors file = io::Safetensors::open(checkpoint);
  fs::create_directories(folder);
  std::vector<List::PieceFile> old;
  if (holds_packed_checkpoint(folder)) old = read_list(folder).pieces;
  List list;
  std::vector<Entry> packed;
  for (const int bits : {8, 4, 0}) {
    list.bits = bits;
    packed = entries(file, bits);
    if (total_bytes(packed) <= limits.all_bytes - kListBytes) break;
  }
  list.metadata = file.metadata();
  if (list.bits == 0 && list.metadata.contains("step")) list.metadata["warm_up_from"] = list.metadata["step"];
  for (const auto& [name, tensor] : file.tensors()) list.shapes[name] = tensor.shape;
  const auto pieces = cut(packed, limits.piece_bytes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    // Another state has other names: what travel.json lists stays whole until the new one replaces it.
    const std::string name = fmt::format("stage{}-step{}-{}of{}.safetensors", list.metadata["stage"],
                                         list.metadata["step"], i + 1, pieces.size());
    io::write_safetensors(folder / name, pieces[i], {{"format", std::string(kFormat)}}, Readers::by_umask);
    list.pieces.push_back({name, io::sha256_hex(folder / name)});
  }
  write_list(folder, list);
  TravelSize size{.pieces = static_cast<std::int64_t>(pieces.size()), .moment_bits = list.bits};
  std::set<std::string> kept;
  for (const List::PieceFile& piece : list.pieces) {
    const auto bytes = static_cast<std::int64_t>(fs::file_size(folder / piece.file));
    MPLUS_CHECK(bytes <= limits.piece_bytes, "{}: {} bytes", piece.file, bytes);
    size.bytes += bytes;
    kept.insert(piece.file);
  }
  size.bytes += static_cast<std::int64_t>(fs::file_size(folder / kList));
  for (const List::PieceFile& piece : old)
    if (!kept.contains(piece.file)) fs::remove(folder / piece.file);
  return size;
}

bool holds_packed_checkpoint(const fs::path& folder) { return fs::exists(folder / kList); }

void unpack_checkpoint(const fs::path& folder, const fs::path& checkpoint) {
  const List list = read_list(folder);
  io::write_safetensors(checkpoint, Unpacked(folder, list).tensors(), list.metadata, Readers::by_umask);
}

}  // namespace mplus::train
