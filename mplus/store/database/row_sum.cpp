#include "mplus/store/database/row_sum.h"

#include <sqlite3.h>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"

namespace mplus::store {
namespace {

void row_checksum(sqlite3_context* context, int count, sqlite3_value** values) {
  RowSum sum;  // the table's name is the first value
  for (int i = 0; i < count; ++i) {
    sqlite3_value* value = values[i];
    switch (sqlite3_value_type(value)) {
      case SQLITE_INTEGER:
        sum.add(std::int64_t{sqlite3_value_int64(value)});
        break;
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
        sum.add(std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value))));
        break;
      }
      case SQLITE_BLOB: {
        const auto* blob = static_cast<const std::byte*>(sqlite3_value_blob(value));
        sum.add(std::span(blob, static_cast<std::size_t>(sqlite3_value_bytes(value))));
        break;
      }
      default:
        sum.add_null();
    }
  }
  sqlite3_result_int64(context, sum.value());
}

}  // namespace

void RowSum::add(char type, std::span<const std::byte> bytes) {
  const std::uint64_t size = bytes.size();
  bytes_.push_back(type);
  bytes_.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void RowSum::add(std::int64_t value) { add('i', std::as_bytes(std::span(&value, 1))); }
void RowSum::add(std::string_view text) { add('t', std::as_bytes(std::span(text))); }
void RowSum::add(std::span<const std::byte> blob) { add('b', blob); }
void RowSum::add_null() { add('n', {}); }

std::int64_t RowSum::value() const {
  return static_cast<std::int64_t>(io::xxh3(std::as_bytes(std::span(bytes_))));
}

void add_row_checksum(sqlite3* connection) {
  const int code = sqlite3_create_function_v2(connection, "row_checksum", -1,
                                              SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
                                              row_checksum, nullptr, nullptr, nullptr);
  MPLUS_CHECK(code == SQLITE_OK, "SQLite refuses a function: {}", sqlite3_errstr(code));
}

}  // namespace mplus::store
