// The database of a session store: its tables, their version, and the steps from older versions.
#pragma once

#include <functional>
#include <string>

#include "mplus/store/database/database.h"

namespace mplus::store {

inline constexpr std::int64_t kApplicationId = 0x6d706c73;  // "mpls"
inline constexpr std::int64_t kSchemaVersion = 2;

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
