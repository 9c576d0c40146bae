#include "mplus/store/store_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "mplus/core/error.h"
#include "mplus/core/files/private_file.h"
#include "mplus/store/damage/store_damage.h"
#include "mplus/store/database/schema.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDatabase = "sessions.db";
constexpr const char* kReserve = "reserve";
constexpr std::array<const char*, 4> kStoreFolders{"states", "segments", "locks", "marks"};
constexpr off_t kReserveBytes = 512 * 1024;  // the log of deleting a small session, with room to spare

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

// A folder like /tmp is everybody's, whoever owns it.
bool is_shared_place(const fs::path& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 && (info.st_mode & S_ISVTX) != 0;
}

void close_to_others(const fs::path& folder) {
  if (!is_shared_place(folder)) make_private(folder);
  for (const char* part : kStoreFolders) make_all_private(folder / part);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kDatabase) || name == kReserve) make_private(entry.path());
    if (name.starts_with("aside-")) make_all_private(entry.path());
  }
}

bool has_database(const fs::path& folder) {
  std::error_code error;
  return fs::file_size(folder / kDatabase, error) > 0 && !error;
}

}  // namespace

bool can_be_written(const fs::path& folder) {
  if (!is_there(folder)) return true;
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return false;
  for (const char* suffix : {"", "-wal", "-shm"})
    if (const fs::path file = folder / (std::string(kDatabase) + suffix);
        is_there(file) && ::access(file.c_str(), W_OK) != 0)
      return false;
  return true;
}

Database open_store_folder(const fs::path& folder, bool read_only,
                           const std::function<void(const std::string&)>& said) {
  if (!has_database(folder)) refuse_without_database(folder);
  if (read_only) {
    if (!has_database(folder))
      fail(ErrorCode::not_found, "{}: there is no session store, and none can be made: it cannot be written",
           folder.string());
    return open_database_read_only(folder / kDatabase);
  }
  try {
    for (const char* part : kStoreFolders) make_private_folders(folder / part);
  } catch (const Error& error) {
    fail(ErrorCode::io, "{}: cannot make the folder of a session store: {}", folder.string(), error.what());
  }
  close_to_others(folder);
  keep_reserve(folder);
  return open_database(folder / kDatabase, said);
}

std::vector<fs::path> old_copies(const fs::path& folder) {
  std::vector<fs::path> copies;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(std::string(kDatabase) + ".v") || name.starts_with("aside-"))
      copies.push_back(entry.path());
  }
  std::sort(copies.begin(), copies.end());
  return copies;
}

void refuse_store_file(const fs::path& file) {
  std::error_code error;
  const fs::path full =
      fs::weakly_canonical(fs::absolute(file, error).parent_path(), error) / file.filename();
  const auto refuse = [&](const fs::path& store) {
    fail(ErrorCode::invalid_argument, "{}: belongs to the session store {}; name a file elsewhere",
         file.string(), store.string());
  };
  const std::string name = full.filename().string();
  if ((name.starts_with(kDatabase) || name == kReserve) && has_database(full.parent_path()))
    refuse(full.parent_path());
  for (fs::path at = full; at.has_relative_path(); at = at.parent_path())
    for (const char* part : kStoreFolders)
      if (at.filename() == part && has_database(at.parent_path())) refuse(at.parent_path());
}

void keep_reserve(const fs::path& folder) noexcept {
  std::error_code error;
  const fs::path file = folder / kReserve;
  if (is_there(file)) return;
  const fs::space_info space = fs::space(folder, error);
  constexpr std::uintmax_t kEnough = 8 * kReserveBytes;  // where less is free, it is needed for other things
  if (error || space.available < kEnough) return;
  const int descriptor = open_private(file, O_RDWR | O_CREAT | O_EXCL);
  if (descriptor < 0) return;
  const bool kept = ::posix_fallocate(descriptor, 0, kReserveBytes) == 0;
  ::close(descriptor);
  if (!kept) ::unlink(file.c_str());
}

void free_reserve(const fs::path& folder) noexcept { ::unlink((folder / kReserve).c_str()); }

}  // namespace mplus::store
