// What people tell a memory is theirs: files that only their owner can read (0600) in folders that only their
// owner can enter (0700), whatever the umask says. Everything a session leaves on disk is made through here
// or by AtomicFile.
#pragma once

#include <filesystem>

namespace mplus {

// As ::open, with O_CLOEXEC; a file that is made gets 0600, one that is there keeps its mode. −1: see errno.
int open_private(const std::filesystem::path& file, int flags) noexcept;

// The folder and those above it that are missing, each 0700. Throws io.
void make_private_folders(const std::filesystem::path& folder);

// Takes all rights to a file or folder from everybody but its owner. Links, and what belongs to another user,
// stay as they are. The file is not opened: closing it again would give up the locks that this process has on
// it (fcntl).
void make_private(const std::filesystem::path& path) noexcept;
// The same for all that lies in a folder, at every depth, and for the folder.
void make_all_private(const std::filesystem::path& folder) noexcept;

}  // namespace mplus
