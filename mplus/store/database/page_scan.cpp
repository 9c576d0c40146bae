#include "mplus/store/database/page_scan.h"

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/store/database/page_check.h"

// "Database File Format" and "WAL-mode File Format" of the SQLite documentation.
namespace mplus::store {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kUsable = kPageBytes - kPageReserve;
constexpr std::size_t kFileHeader = 100;                   // in front of the first page's own
constexpr std::size_t kLogHeader = 32, kFrameHeader = 24;  // of the write-ahead log
constexpr std::uint64_t kMostPayload = std::uint64_t{1} << 31;
constexpr std::size_t kMostColumns = 100;

enum PageKind : std::uint8_t { kIndexInterior = 2, kIndexLeaf = 10, kTableLeaf = 13 };

std::uint64_t number_at(Bytes bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | std::to_integer<std::uint8_t>(bytes[at + i]);
  return value;
}

// Reads forward; past the end everything is nothing, and `ok` says so.
class Cursor {
 public:
  explicit Cursor(Bytes bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}
  bool ok() const { return ok_; }
  std::size_t at() const { return at_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int i = 0; i < 9; ++i) {
      const Bytes byte = take(1);
      if (!ok_) return 0;
      const auto bits = std::to_integer<std::uint8_t>(byte[0]);
      if (i == 8) return value << 8 | bits;
      value = value << 7 | (bits & 0x7f);
      if ((bits & 0x80) == 0) return value;
    }
    return value;
  }
  std::uint64_t number(std::size_t size) {
    const Bytes bytes = take(size);
    return ok_ ? number_at(bytes, 0, size) : 0;
  }
  Bytes take(std::size_t size) {
    if (!ok_ || at_ > bytes_.size() || size > bytes_.size() - at_) {
      ok_ = false;
      return {};
    }
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }

 private:
  Bytes bytes_;
  std::size_t at_;
  bool ok_ = true;
};

std::optional<RawValue> value_of(Cursor& body, std::uint64_t type) {
  constexpr std::size_t kSizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  if (type == 0) return RawValue{};
  if (type == 8 || type == 9) return RawValue{static_cast<std::int64_t>(type - 8)};
  if (type < 8) {
    const std::size_t size = kSizes[type];
    const std::uint64_t bits = body.number(size);
    if (type == 7) return RawValue{std::bit_cast<double>(bits)};
    const auto shift = static_cast<int>(64 - 8 * size);
    return RawValue{static_cast<std::int64_t>(bits << shift) >> shift};
  }
  if (type < 12) return std::nullopt;
  const Bytes bytes = body.take(static_cast<std::size_t>((type - 12) / 2));
  if (!body.ok()) return std::nullopt;
  if (type % 2 == 1) return RawValue{std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  return RawValue{std::vector<std::byte>(bytes.begin(), bytes.end())};
}

std::optional<std::vector<RawValue>> record_of(Bytes payload) {
  Cursor header(payload);
  const std::uint64_t header_size = header.varint();
  if (!header.ok() || header_size > payload.size()) return std::nullopt;
  Cursor body(payload, static_cast<std::size_t>(header_size));
  std::vector<RawValue> values;
  while (header.ok() && header.at() < header_size) {
    auto value = value_of(body, header.varint());
    if (!value || !body.ok() || values.size() == kMostColumns) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return header.ok() ? std::optional(std::move(values)) : std::nullopt;
}

class Scan {
 public:
  using Pages = std::map<std::int64_t, Bytes>;
  Scan(const Pages& pages, const std::function<void(const RawRow&)>& found) : pages_(pages), found_(found) {}

  void run() {
    for (const auto& [number, page] : pages_) scan_page(number, page);
  }

 private:
  void scan_page(std::int64_t number, Bytes page) {
    const std::size_t at = number == 1 ? kFileHeader : 0;
    const auto kind = std::to_integer<std::uint8_t>(page[at]);
    if (kind != kIndexInterior && kind != kIndexLeaf && kind != kTableLeaf) return;
    const std::size_t cells = static_cast<std::size_t>(number_at(page, at + 3, 2));
    const std::size_t first = at + (kind == kIndexInterior ? 12 : 8);
    for (std::size_t i = 0; i < cells && first + 2 * i + 2 <= kUsable; ++i)
      scan_cell(number, page, static_cast<std::size_t>(number_at(page, first + 2 * i, 2)), kind);
  }

  void scan_cell(std::int64_t number, Bytes page, std::size_t at, std::uint8_t kind) {
    Cursor cell(page.first(kUsable), at);
    if (kind == kIndexInterior) cell.take(4);  // the child to its left
    const std::uint64_t size = cell.varint();
    RawRow row;
    row.pages.insert(number);
    if (kind == kTableLeaf) row.id = static_cast<std::int64_t>(cell.varint());
    if (!cell.ok() || size > kMostPayload) return;
    std::vector<std::byte> payload;
    if (!gather(cell, static_cast<std::size_t>(size), kind == kTableLeaf, payload, row.pages)) return;
    auto values = record_of(payload);
    if (!values) return;
    row.values = std::move(*values);
    found_(row);
  }

  // The part of a payload in its cell, then the chain of pages it flows over to.
  bool gather(Cursor& cell, std::size_t size, bool table, std::vector<std::byte>& payload,
              std::set<std::int64_t>& on) {
    const std::size_t most = table ? kUsable - 35 : (kUsable - 12) * 64 / 255 - 23;
    const std::size_t least = (kUsable - 12) * 32 / 255 - 23;
    std::size_t local = size;
    if (size > most) {
      local = least + (size - least) % (kUsable - 4);
      if (local > most) local = least;
    }
    const Bytes here = cell.take(local);
    std::uint64_t next = local < size ? cell.number(4) : 0;
    if (!cell.ok()) return false;
    payload.assign(here.begin(), here.end());
    while (payload.size() < size) {
      const auto page = pages_.find(static_cast<std::int64_t>(next));
      if (page == pages_.end() || !on.insert(page->first).second) return false;
      next = number_at(page->second, 0, 4);
      const Bytes more = page->second.subspan(4, std::min(size - payload.size(), kUsable - 4));
      payload.insert(payload.end(), more.begin(), more.end());
    }
    return true;
  }

  const Pages& pages_;
  const std::function<void(const RawRow&)>& found_;
};

}  // namespace

void scan_rows(const std::filesystem::path& database, const std::function<void(const RawRow&)>& found) {
  Scan::Pages pages;
  std::shared_ptr<const MappedFile> file, log;
  std::error_code ignored;
  const std::filesystem::path log_path = database.string() + "-wal";
  if (std::filesystem::file_size(database, ignored) > 0 && !ignored) file = MappedFile::open(database);
  if (std::filesystem::file_size(log_path, ignored) > 0 && !ignored) log = MappedFile::open(log_path);
  if (file)
    for (std::size_t at = 0; at + kPageBytes <= file->bytes().size(); at += kPageBytes)
      pages[static_cast<std::int64_t>(at / kPageBytes + 1)] = file->bytes().subspan(at, kPageBytes);
  Scan(pages, found).run();
  if (!log) return;
  constexpr std::size_t kFrame = kFrameHeader + kPageBytes;
  bool changed = false;
  for (std::size_t at = kLogHeader; at + kFrame <= log->bytes().size(); at += kFrame) {
    const auto number = static_cast<std::int64_t>(number_at(log->bytes(), at, 4));
    pages[number] = log->bytes().subspan(at + kFrameHeader, kPageBytes);
    changed = true;
  }
  if (changed) Scan(pages, found).run();
}

}  // namespace mplus::store
