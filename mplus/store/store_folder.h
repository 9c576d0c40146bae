// The folder of a session store: what lies in it, who may read it, and how it is opened.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "mplus/store/database/database.h"

namespace mplus::store {

// Folder and database, by this process: also true where there is no folder yet.
bool can_be_written(const std::filesystem::path& folder);

// The database of the store. Not `read_only`: the folder is made where it is missing, and closed to everybody
// but its owner; `said` is told of a copy that was made before an older version was brought up to date.
Database open_store_folder(const std::filesystem::path& folder, bool read_only,
                           const std::function<void(const std::string&)>& said);

// Copies of the database from before an older version was brought up to date, and what was set aside: they
// hold what was deleted since.
std::vector<std::filesystem::path> old_copies(const std::filesystem::path& folder);

// Throws invalid_argument where a file that somebody wants to write would be one of a store: its database, or
// anything in its folders.
void refuse_store_file(const std::filesystem::path& file);

// A file without content that keeps some room on the disk: should the disk be full, a session can still be
// deleted, which needs room before it makes some.
void keep_reserve(const std::filesystem::path& folder) noexcept;  // if it is not there and the disk has room
void free_reserve(const std::filesystem::path& folder) noexcept;

}  // namespace mplus::store
