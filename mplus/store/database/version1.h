// What a database of version 1 kept otherwise.
#pragma once

#include "mplus/store/database/database.h"

namespace mplus::store {

// Events that fit their checksum of version 1 get today's; others stay damaged. Inside a transaction.
void renew_version1_events(Database& database);

}  // namespace mplus::store
