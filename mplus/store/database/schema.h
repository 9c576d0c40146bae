// The database of a session store: its tables, their version, and the steps from older versions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "mplus/store/database/database.h"

namespace mplus::store {

inline constexpr std::int64_t kApplicationId = 0x6d706c73;  // "mpls"
inline constexpr std::int64_t kSchemaVersion = 2;

// The column `ready` of a session's row.
enum class SessionStage : std::uint8_t {
  making = 0,  // not shown, and removed if it is left behind
  ready = 1,
  rebuild = 2,  // what a rebuild has written by now (store_rebuild.cpp): for that rebuild alone
};
constexpr std::int64_t number_of(SessionStage stage) { return static_cast<std::int64_t>(stage); }

// Opens the database of a store, makes it where it is new, and brings older versions up to date, after a copy
// was made: `said` is told its name. A newer version, or a database of another program, is refused.
Database open_database(const std::filesystem::path& file,
                       const std::function<void(const std::string&)>& said);
// For a reader that cannot write to the folder. Throws io where changes are in a log that cannot be read
// without writing, unsupported where it is of an older version: bringing it up to date is writing.
Database open_database_read_only(const std::filesystem::path& file);
// The same for one that is open: a copy in memory, for instance.
void prepare_database(Database& database);

}  // namespace mplus::store
