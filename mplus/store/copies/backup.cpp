#include "mplus/store/copies/backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "mplus/core/files/file.h"
#include "mplus/core/files/private_file.h"
#include "mplus/store/damage/verify.h"
#include "mplus/store/database/page_check.h"
#include "mplus/store/database/schema.h"
#include "mplus/store/store_folder.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders[] = {"states", "segments"};

void check_target(const fs::path& target) {
  refuse_store_file(target);
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status) || !fs::is_empty(target, error))
    fail(ErrorCode::invalid_argument, "{}: is there already; name a new folder, or an empty one",
         target.string());
}

// Where the copy is made; gone again unless it is kept.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& target) {
    if (target.has_parent_path()) make_private_folders(target.parent_path());
    std::string name = target.string() + ".incomplete-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      fail(ErrorCode::io, "{}: cannot make a folder there: {}", target.string(), std::strerror(errno));
    path_ = name;
    make_private(path_);
    ::chmod(path_.c_str(), 0700);
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

  // An empty folder of that name is replaced; a full one is not, whoever filled it.
  void become(const fs::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0)
      fail(ErrorCode::io, "{}: cannot rename into place: {}", target.string(), std::strerror(errno));
    path_.clear();
    sync_folder_of(target);
  }

 private:
  fs::path path_;
};

class Backup {
 public:
  Backup(Store& store, const fs::path& target) : store_(store), folder_(target) {}

  BackupReport run(const fs::path& target) {
    for (const char* part : kFolders) make_private_folders(folder_.path() / part);
    // Files of a state may go between a look at the database and their copying: then a newer look is taken.
    // What was copied stays good, so each time there is less to do.
    constexpr int kAttempts = 20;
    for (int attempt = 1; !copy_all(attempt == kAttempts); ++attempt) {
    }
    finish();
    for (const char* part : {"states", "segments", "marks", "locks", ""})
      sync_folder_of(folder_.path() / part / "x");
    folder_.become(target);
    return report_;
  }

 private:
  // False: a file is gone that the database names no longer.
  bool copy_all(bool last_attempt) {
    marks_.clear();  // before the database, which may only be ahead of them
    for (const SessionInfo& info : store_.list()) marks_[info.id] = read_mark(store_.mark_path(info.id));
    copy_database_file();
    Database copy(folder_.path() / "sessions.db");
    for (const char* part : kFolders) {
      Statement row = copy.prepare(fmt::format("SELECT DISTINCT file FROM {}", part));
      while (row.step())
        if (!copy_file(part, row.text(0), last_attempt)) return false;
    }
    return true;
  }

  void copy_database_file() {
    const fs::path file = folder_.path() / "sessions.db";
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((file.string() + suffix).c_str());
    const int descriptor = open_private(file, O_RDWR | O_CREAT | O_EXCL);
    if (descriptor >= 0) ::close(descriptor);
    Database copy(file);
    reserve_checksums(copy.handle());
    copy.execute("PRAGMA user_version = 1");  // makes the first page, so that the others get their checksums
    copy_database(store_.database(), copy);
    if (const std::string damage = store_.database().damage_text(); !damage.empty())
      fail(ErrorCode::corrupt, "{}: {}: nothing was copied; `mplus session verify` says what is lost",
           store_.database().file().string(), damage);
  }

  bool copy_file(const char* part, const std::string& name, bool last_attempt) {
    const fs::path from = store_.folder() / part / name, to = folder_.path() / part / name;
    std::error_code error;
    if (fs::exists(to, error)) return true;
    try {
      const auto map = MappedFile::open(from);
      AtomicFile file(to);
      file.write(map->bytes());
      file.commit();
      return true;
    } catch (const Error& problem) {
      if (problem.code() != ErrorCode::not_found) throw;
      const bool named =
          store_.database().prepare(fmt::format("SELECT 1 FROM {} WHERE file = ?", part)).bind(name).step();
      if (named || last_attempt)
        fail(ErrorCode::corrupt, "{}; nothing was copied: `mplus session verify` says what is lost",
             problem.what());
      return false;
    }
  }

  // As whoever opens the copy will find it: with marks, without what was half made, and sound.
  void finish() {
    Store copy(folder_.path());
    for (const SessionInfo& info : copy.list()) {
      const auto at = marks_.find(info.id);
      if (at == marks_.end()) {
        copy.mark(info.id);  // it was made since
      } else if (at->second.mark) {
        write_mark(copy.mark_path(info.id), *at->second.mark, true);
      }
    }
    copy.remove_unfinished();
    remove_unnamed(copy);
    for (const SessionInfo& info : copy.list()) {
      const VerifyReport found = verify_session(copy, info.name);
      if (!found.sound())
        fail(ErrorCode::corrupt,
             "the copy of session {} is not sound: {}; `mplus session verify` says whether the "
             "store is",
             info.name, found.problems.front());
      ++report_.sessions;
      report_.files += found.states + found.segments;
    }
    copy.wipe_log();
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) report_.bytes += static_cast<std::int64_t>(entry.file_size());
  }

  // Files of an earlier look that the last one does not name.
  void remove_unnamed(Store& copy) {
    std::vector<fs::path> files;
    for (const char* part : kFolders)
      for (const auto& entry : fs::directory_iterator(folder_.path() / part)) files.push_back(entry.path());
    copy.remove_unnamed(files);
  }

  Store& store_;
  WorkFolder folder_;
  std::map<std::int64_t, MarkFound> marks_;
  BackupReport report_;
};

}  // namespace

BackupReport backup_store(Store& store, const fs::path& target) {
  const fs::path place = target.has_filename() ? target : target.parent_path();
  check_target(place);
  return Backup(store, place).run(place);
}

}  // namespace mplus::store
