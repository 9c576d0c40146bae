#include "mplus/store/database/page_check.h"

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/store/database/schema.h"

namespace mplus::store {
namespace {

constexpr const char* kName = "mplus-pages";
constexpr int kSubpageRead =
    0x8000;  // SQLITE_IOCAP_SUBPAGE_READ of newer versions: parts of a page cannot be checked

// Lies in memory that SQLite allocates; the file of the layer below stands behind it.
struct CheckedFile {
  sqlite3_file base;
  PageChecks* checks;
};

sqlite3_vfs* below() {
  static sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  return vfs;
}

sqlite3_file* inner(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<CheckedFile*>(file) + 1);
}
PageChecks& checks_of(sqlite3_file* file) { return *reinterpret_cast<CheckedFile*>(file)->checks; }

// The page's number is part of it: a page that came to lie at another place is damage, too.
std::uint64_t page_sum(const std::byte* page, std::int64_t number) {
  const std::uint64_t sum = io::xxh3({page, static_cast<std::size_t>(kPageBytes - kPageReserve)});
  return sum ^ (static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15u);
}

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

// By the first bytes of a file. Two fields say so, that no single damaged byte hides the checksums.
bool says_checked(const unsigned char* header) {
  const bool ours = big_endian(header + 68) == kApplicationId && big_endian(header + 60) >= 2;
  return header[20] == kPageReserve || ours;
}

// A file that was empty when it was opened may have got its first page from another process since.
void look_again(sqlite3_file* file) {
  std::array<unsigned char, 100> header{};
  if (inner(file)->pMethods->xRead(inner(file), header.data(), static_cast<int>(header.size()), 0) ==
      SQLITE_OK)
    checks_of(file).checked = says_checked(header.data());
}

int read_page(sqlite3_file* file, void* data, int bytes, sqlite3_int64 offset) {
  const int code = inner(file)->pMethods->xRead(inner(file), data, bytes, offset);
  PageChecks& checks = checks_of(file);
  if (!checks.checked && offset == 0) look_again(file);
  if (!checks.checked || bytes < 512 || (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ)) return code;
  const std::int64_t number = offset / kPageBytes + 1;
  std::uint64_t stored = 0;
  std::memcpy(&stored, static_cast<const std::byte*>(data) + kPageBytes - kPageReserve, sizeof stored);
  // Another size of pages: the first page, which tells it, is damaged.
  if (bytes != kPageBytes || offset % kPageBytes != 0) {
    checks.damaged.insert(1);
  } else if (stored != page_sum(static_cast<const std::byte*>(data), number)) {
    checks.damaged.insert(number);
  }
  return code;
}

int write_page(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 offset) {
  PageChecks& checks = checks_of(file);
  if (offset == 0 && bytes >= 100 && static_cast<const unsigned char*>(data)[20] == kPageReserve)
    checks.checked = true;
  if (!checks.checked) look_again(file);
  if (!checks.checked || bytes != kPageBytes)
    return inner(file)->pMethods->xWrite(inner(file), data, bytes, offset);
  std::array<std::byte, kPageBytes> page;
  std::memcpy(page.data(), data, page.size());
  const std::uint64_t sum = page_sum(page.data(), offset / kPageBytes + 1);
  std::memcpy(page.data() + kPageBytes - kPageReserve, &sum, sizeof sum);
  return inner(file)->pMethods->xWrite(inner(file), page.data(), bytes, offset);
}

int close_file(sqlite3_file* file) {
  delete reinterpret_cast<CheckedFile*>(file)->checks;
  return inner(file)->pMethods->xClose(inner(file));
}

const sqlite3_io_methods kMethods{
    .iVersion = 3,
    .xClose = close_file,
    .xRead = read_page,
    .xWrite = write_page,
    .xTruncate = [](sqlite3_file* f,
                    sqlite3_int64 size) { return inner(f)->pMethods->xTruncate(inner(f), size); },
    .xSync = [](sqlite3_file* f, int flags) { return inner(f)->pMethods->xSync(inner(f), flags); },
    .xFileSize = [](sqlite3_file* f,
                    sqlite3_int64* size) { return inner(f)->pMethods->xFileSize(inner(f), size); },
    .xLock = [](sqlite3_file* f, int level) { return inner(f)->pMethods->xLock(inner(f), level); },
    .xUnlock = [](sqlite3_file* f, int level) { return inner(f)->pMethods->xUnlock(inner(f), level); },
    .xCheckReservedLock = [](sqlite3_file* f,
                             int* out) { return inner(f)->pMethods->xCheckReservedLock(inner(f), out); },
    .xFileControl = [](sqlite3_file* f, int op,
                       void* arg) { return inner(f)->pMethods->xFileControl(inner(f), op, arg); },
    .xSectorSize = [](sqlite3_file* f) { return inner(f)->pMethods->xSectorSize(inner(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) { return inner(f)->pMethods->xDeviceCharacteristics(inner(f)) & ~kSubpageRead; },
    .xShmMap =
        [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
          return inner(f)->pMethods->xShmMap(inner(f), page, size, extend, out);
        },
    .xShmLock = [](sqlite3_file* f, int offset, int n,
                   int flags) { return inner(f)->pMethods->xShmLock(inner(f), offset, n, flags); },
    .xShmBarrier = [](sqlite3_file* f) { inner(f)->pMethods->xShmBarrier(inner(f)); },
    .xShmUnmap = [](sqlite3_file* f, int remove) { return inner(f)->pMethods->xShmUnmap(inner(f), remove); },
    // No mapping: every page comes through xRead.
    .xFetch =
        [](sqlite3_file*, sqlite3_int64, int, void** page) {
          *page = nullptr;
          return SQLITE_OK;
        },
    .xUnfetch = [](sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; },
};

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return below()->xOpen(below(), name, file, flags, out_flags);
  auto* checked = reinterpret_cast<CheckedFile*>(file);
  checked->base.pMethods = nullptr;
  const int code = below()->xOpen(below(), name, inner(file), flags, out_flags);
  if (code != SQLITE_OK) {
    if (inner(file)->pMethods) inner(file)->pMethods->xClose(inner(file));
    return code;
  }
  checked->checks = new PageChecks;
  checked->base.pMethods = &kMethods;
  look_again(file);
  return SQLITE_OK;
}

bool add_layer() {
  static sqlite3_vfs vfs = *below();
  vfs.zName = kName;
  vfs.szOsFile = static_cast<int>(sizeof(CheckedFile)) + below()->szOsFile;
  vfs.pNext = nullptr;
  vfs.xOpen = open_file;
  return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
}

}  // namespace

const char* checking_vfs() {
  static const bool added = add_layer();
  MPLUS_CHECK(added, "SQLite refuses the layer {}", kName);
  return kName;
}

PageChecks* page_checks(sqlite3* connection) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file ||
      file->pMethods != &kMethods)
    return nullptr;
  return reinterpret_cast<CheckedFile*>(file)->checks;
}

void reserve_checksums(sqlite3* connection) {
  int bytes = kPageReserve;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

}  // namespace mplus::store
