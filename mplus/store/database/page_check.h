// Every page of a store's database ends with a checksum, so that damage is noticed wherever it is: in a row,
// an index, a list of free pages. SQLite leaves the last bytes of a page to whoever asks for them; this is a
// layer under it that fills them when a page goes to the file and compares them when it comes back. The
// write-ahead log has checksums of its own.
//
// A damaged page is handed on as it is, and noted: rows have checksums too, and most of the page may be
// sound. A connection that met one commits nothing, or the page would get a new checksum and look sound.
#pragma once

#include <cstdint>
#include <set>

struct sqlite3;

namespace mplus::store {

inline constexpr int kPageBytes = 4096;
inline constexpr int kPageReserve = 8;  // at the end of each page

struct PageChecks {
  bool checked = false;            // the pages carry checksums
  bool may_commit = false;         // although there is damage: while the database is mended
  std::set<std::int64_t> damaged;  // numbers, from 1
};

const char* checking_vfs();  // the layer's name for sqlite3_open_v2
// Of a connection opened through the layer; null: a database in memory.
PageChecks* page_checks(sqlite3* connection);
// Pages of a database that is still empty, or about to be written anew, get room for their checksums.
void reserve_checksums(sqlite3* connection);

}  // namespace mplus::store
