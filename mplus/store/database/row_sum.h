// A checksum over the columns of a row that decide, kept in the row itself. In SQL it is
// row_checksum('table', column, …); a row found outside of any table can be known by it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;

namespace mplus::store {

class RowSum {
 public:
  RowSum() = default;
  explicit RowSum(std::string_view table) { add(table); }
  void add(std::int64_t value);
  void add(std::string_view text);
  void add(std::span<const std::byte> blob);
  void add_null();
  std::int64_t value() const;

 private:
  void add(char type, std::span<const std::byte> bytes);
  std::string bytes_;
};

void add_row_checksum(sqlite3* connection);  // the SQL function

// For a row of the table of that name. A source's text and ids have a SHA-256 of their own. An event's row
// has the same checksum in every fork of a session.
inline constexpr const char* kSessionSum =
    "row_checksum('sessions', id, name, ready, created_at, shape_id, weights_id, numerics_id, dtype, "
    "capacity, "
    "keep_hidden, seed, model, delta, forked_from)";
inline constexpr const char* kSourceSum = "row_checksum('sources', id, name, speaker, size, sha256)";
inline constexpr const char* kEventSum =
    "row_checksum('events', number, kind, at, undone_by, source, answer, token_begin, token_end, byte_begin, "
    "byte_end, complete, forgotten, ids, recalled, details)";
inline constexpr const char* kStateSum =
    "row_checksum('states', file, size, at, event, token, updates, pinned, header)";

}  // namespace mplus::store
