#include "mplus/core/files/new_file.h"

#include <fcntl.h>
#include <stdio.h>  // renameat2
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"

namespace mplus {
namespace {

namespace fs = std::filesystem;

const char* kind_of(mode_t mode) {
  return S_ISLNK(mode)    ? "a symbolic link"
         : S_ISDIR(mode)  ? "a folder"
         : S_ISFIFO(mode) ? "a pipe"
                          : "a device or a socket";
}

void check(const fs::path& file, bool replace) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0) return;
  if (!S_ISREG(info.st_mode))
    fail(ErrorCode::invalid_argument,
         "{}: {} is there, which is never replaced (--force replaces files only); name another file",
         file.string(), kind_of(info.st_mode));
  if (!replace)
    fail(ErrorCode::invalid_argument, "{}: is there already; name a new file, or replace it with --force",
         file.string());
}

// The new name, if it is free; false: the file system cannot do that in one step.
bool rename_if_free(const fs::path& from, const fs::path& to) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
}

}  // namespace

NewFile::NewFile(fs::path file, bool replace) : file_(std::move(file)), replace_(replace) {
  if (!file_.has_filename())
    fail(ErrorCode::invalid_argument, "{}: names a folder; a file is to be made", file_.string());
  check(file_, replace_);
  temporary_ = temporary_name(file_);
}

NewFile::~NewFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::commit() {
  check(file_, replace_);
  const bool moved = !replace_ && rename_if_free(temporary_, file_);
  if (!moved && !replace_) {
    const int why = errno;
    check(file_, replace_);  // says so if it is there now
    if (why != EINVAL && why != ENOSYS)
      fail(ErrorCode::io, "{}: cannot rename into place: {}", file_.string(), std::strerror(why));
  }
  if (!moved && ::rename(temporary_.c_str(), file_.c_str()) != 0)
    fail(ErrorCode::io, "{}: cannot rename into place: {}", file_.string(), std::strerror(errno));
  temporary_.clear();
  sync_folder_of(file_);
}

}  // namespace mplus
