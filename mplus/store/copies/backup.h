// A whole store copied to another folder while others use it. The copy is a store like any other.
#pragma once

#include <cstdint>
#include <filesystem>

#include "mplus/store/store.h"

namespace mplus::store {

struct BackupReport {
  std::int64_t sessions = 0, files = 0;  // states and segments
  std::int64_t bytes = 0;                // of all of it
};

// `target` must be missing or an empty folder. The copy is made beside it, in a folder whose name ends with
// ".incomplete-" and six digits; it is verified, synced, and gets its name last. What fails leaves nothing; a
// process that is killed leaves that folder. Throws corrupt where the store, or what was copied of it, is
// damaged.
BackupReport backup_store(Store& store, const std::filesystem::path& target);

}  // namespace mplus::store
