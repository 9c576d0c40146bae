// A store that is not whole: a database that is gone while its files are there.
#pragma once

#include <filesystem>
#include <string>

namespace mplus::store {

// "3 states, 7 segments of sessions notes, 17", where a database should be that names them; empty: nothing.
std::string left_behind(const std::filesystem::path& folder);
// Throws corrupt if files were left behind.
void refuse_without_database(const std::filesystem::path& folder);

}  // namespace mplus::store
