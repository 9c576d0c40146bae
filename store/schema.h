// The database of a session store: its tables, their version, and the steps from older versions.
#pragma once

#include "mplus/store/database.h"

namespace mplus::store {

inline constexpr std::int64_t kApplicationId = 0x6d706c73;  // "mpls"
inline constexpr std::int64_t kSchemaVersion = 1;

// Opens the database of a store, makes it where it is new, and brings older versions up to date. A newer
// version, or a database of another program, is refused.
Database open_database(const std::filesystem::path& file);

}  // namespace mplus::store
