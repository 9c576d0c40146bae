#include "mplus/core/files/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mplus/core/error.h"

namespace mplus {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFile = 0600, kFolder = 0700;

}  // namespace

int open_private(const fs::path& file, int flags) noexcept {
  if ((flags & O_CREAT) == 0) return ::open(file.c_str(), flags | O_CLOEXEC);
  for (;;) {
    const int made = ::open(file.c_str(), flags | O_EXCL | O_CLOEXEC, kFile);
    if (made >= 0) ::fchmod(made, kFile);  // an umask may take rights from the owner, too
    if (made >= 0 || errno != EEXIST || (flags & O_EXCL) != 0) return made;
    const int there = ::open(file.c_str(), (flags & ~O_CREAT) | O_CLOEXEC);
    if (there >= 0 || errno != ENOENT) return there;  // otherwise it went away between the two: again
    struct stat info {};
    if (::lstat(file.c_str(), &info) == 0) {  // a link to nothing
      errno = ENOENT;
      return -1;
    }
  }
}

void make_private_folders(const fs::path& folder) {
  std::error_code error;
  const fs::path place = folder.has_filename() ? folder : folder.parent_path();
  if (place.empty() || fs::is_directory(place, error)) return;
  make_private_folders(place.parent_path());
  if (::mkdir(place.c_str(), kFolder) == 0) {
    ::chmod(place.c_str(), kFolder);
  } else if (const int why = errno; why != EEXIST || !fs::is_directory(place, error)) {
    fail(ErrorCode::io, "{}: cannot make this folder: {}", place.string(), std::strerror(why));
  }
}

void make_private(const fs::path& path) noexcept {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  const bool folder = S_ISDIR(info.st_mode);
  if (!folder && !S_ISREG(info.st_mode)) return;
  if ((info.st_mode & (folder ? 0077 : 0177)) == 0 || info.st_uid != ::geteuid()) return;
  ::chmod(path.c_str(), info.st_mode & (folder ? kFolder : kFile));
}

void make_all_private(const fs::path& folder) noexcept {
  std::error_code error;
  make_private(folder);
  for (auto at = fs::recursive_directory_iterator(folder, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error))
    make_private(at->path());
}

}  // namespace mplus
