// The rows of an SQLite file, found page by page without its tables: where the pages that lead to a row are
// damaged, the row's own page still tells it. What is found may be anything; a row's checksum says what it is
// (row_sum.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace mplus::store {

using RawValue = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::byte>>;

struct RawRow {
  std::int64_t id = 0;  // in a table with row ids
  std::vector<RawValue> values;
  std::set<std::int64_t> pages;  // it lies on, from 1
};

// First the database as its file has it, then as the write-ahead log beside it has changed it: the same row
// may come twice, the newer one last.
void scan_rows(const std::filesystem::path& database, const std::function<void(const RawRow&)>& found);

}  // namespace mplus::store
