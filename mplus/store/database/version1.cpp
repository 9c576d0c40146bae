#include "mplus/store/database/version1.h"

#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/store/database/blob.h"
#include "mplus/store/database/row_sum.h"

namespace mplus::store {
namespace {

constexpr const char* kOldColumns =
    "number, kind, at, token_begin, token_end, byte_begin, byte_end, complete, details, forgotten, "
    "coalesce(source, -1), coalesce(answer, -1), ids, recalled, checksum, session";

// Over what never changed after an event was added, but for the end of a document that goes on.
bool fits(const Statement& row) {
  std::string bytes;
  for (int column = 0; column < 7; ++column) bytes += fmt::format("{} ", row.integer(column));
  bytes += fmt::format("{} {} ", row.integer(7) != 0, row.text(8));
  const auto add = [&](std::span<const std::byte> blob) {
    bytes.append(reinterpret_cast<const char*>(blob.data()), blob.size());
  };
  if (row.integer(9) == 0) {
    bytes += fmt::format("{} {} ", row.integer(10), row.integer(11));
    if (!row.is_null(12)) {
      const std::vector<io::TokenId> ids = unpack_ids(row.blob(12), "an event");
      add(std::as_bytes(std::span(ids)));
    }
    if (!row.is_null(13))
      for (const auto& layer : unpack_births(row.blob(13), "an event")) add(std::as_bytes(std::span(layer)));
  }
  return static_cast<std::int64_t>(io::xxh3(std::as_bytes(std::span(bytes)))) == row.integer(14);
}

}  // namespace

void renew_version1_events(Database& database) {
  std::vector<std::pair<std::int64_t, std::int64_t>> sound;  // session, number
  Statement row = database.prepare(fmt::format("SELECT {} FROM events", kOldColumns));
  while (row.step()) {
    try {
      if (fits(row)) sound.emplace_back(row.integer(15), row.integer(0));
    } catch (const Error&) {  // a list that cannot be unpacked
    }
  }
  for (const auto& [session, number] : sound)
    database
        .prepare(fmt::format("UPDATE events SET checksum = {} WHERE session = ? AND number = ?", kEventSum))
        .bind(session)
        .bind(number)
        .run();
}

}  // namespace mplus::store
