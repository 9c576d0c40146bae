// What is to be gone, and gone for good: sessions that are deleted, texts of what was undone.
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "mplus/core/files/file.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/io/text/names.h"
#include "mplus/store/database/row_sum.h"
#include "mplus/store/store.h"
#include "mplus/store/store_folder.h"
#include "mplus/store/words/text_index.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

// Bytes of the file -shm that SQLite locks for a reader of the log ("WAL-mode File Format", "Locking").
constexpr std::int64_t kFirstReadLock = 123, kLastReadLock = 127;

std::string name_of_process(const std::string& id) {
  try {
    std::string name = read_text_file("/proc/" + id + "/comm");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    return fmt::format("process {} ({})", id, name);
  } catch (const Error&) {
    return "process " + id;
  }
}

// Who reads the log of a database, by the system's list of locks. Opening the file to ask would be easier,
// but closing it again would give up the locks that this process has on it.
std::string reader_of_log(const fs::path& database) {
  std::string unknown = "another process";
  struct stat info {};
  if (::stat((database.string() + "-shm").c_str(), &info) != 0) return unknown;
  const std::string wanted = fmt::format(":{}", info.st_ino);  // behind the device, which has several names
  std::istringstream locks;
  try {
    locks.str(read_text_file("/proc/locks"));
  } catch (const Error&) {
    return unknown;
  }
  const std::string self = std::to_string(::getpid());
  for (std::string line; std::getline(locks, line);) {
    // "1: POSIX  ADVISORY  READ 4711 08:01:1234 123 123"
    std::istringstream words(line);
    std::string number, kind, advisory, mode, process, place;
    std::int64_t first = 0;
    if (!(words >> number >> kind >> advisory >> mode >> process >> place >> first) ||
        !place.ends_with(wanted))
      continue;
    if (first >= kFirstReadLock && first <= kLastReadLock && process != self && process != "0" &&
        process != "-1")
      return name_of_process(process);
  }
  return unknown;
}

}  // namespace

void Store::remove_rows(std::int64_t session) {
  Transaction transaction(database_);
  delete_rebuild(session);
  database_.prepare("DELETE FROM sessions WHERE id = ?").bind(session).run();
  TextIndex::drop(database_, session);
  database_.execute(
      "DELETE FROM sources WHERE id NOT IN (SELECT source FROM events WHERE source IS NOT NULL UNION "
      "SELECT answer FROM events WHERE answer IS NOT NULL)");
  release_segments();
  transaction.commit();
}

void Store::remove_session(std::int64_t session, const std::string& name) {
  const std::vector<fs::path> files = own_files(session);
  mark_intent(session, name, true);
  try {
    writing([&] { remove_rows(session); });
  } catch (const Error& error) {
    // A database grows before it shrinks. On a full disk the files make room for that; what they held is to
    // go anyway, and should this end here, the journal still leads to it. Those of a small session may not be
    // enough, so there is a reserve, too.
    if (error.code() != ErrorCode::io || !disk_is_full(folder_)) throw;
    std::error_code ignored;
    for (const fs::path& file : files) fs::remove(file, ignored);
    free_reserve(folder_);
    remove_rows(session);
  }
  forget_mark(session);
  remove_unnamed(files);
}

Store::Leftover Store::remove(const std::string& name) {
  const std::int64_t session = look_at(name).id;  // a damaged one can be deleted, too
  const FileLock lock(lock_path(session), fmt::format("session {}", io::shown(name)));
  remove_session(session, name);
  return wipe();
}

void Store::discard(std::int64_t session) noexcept {
  try {
    remove_session(session, "");
    remove_files_of(session);
    wipe_log();
  } catch (const std::exception&) {  // not ready, so nobody sees it, and the next writer removes it
  }
}

void Store::remove_unfinished() {
  std::vector<std::int64_t> unfinished;
  Statement row = database_.prepare(fmt::format("SELECT id FROM sessions WHERE ready = {} AND checksum = {}",
                                                number_of(SessionStage::making), kSessionSum));
  while (row.step()) unfinished.push_back(row.integer(0));
  row.reset();
  for (std::int64_t session : unfinished) {
    if (FileLock::owner(lock_path(session))) continue;  // its maker lives
    mark_intent(session, "", true);
    writing([&] { remove_rows(session); });
    forget_mark(session);
    remove_files_of(session);
    wipe_log();
  }
}

Store::PurgeReport Store::purge(const std::string& name) {
  const std::int64_t session = get(name).id;
  const FileLock lock(lock_path(session), fmt::format("session {}", io::shown(name)));
  Journal::Purged purged;
  const std::vector<fs::path> files = own_files(session);
  const std::optional<RebuildLeft> rebuild = rebuild_left(session);
  writing([&] {
    Transaction transaction(database_);
    purged = Journal(database_, session).purge_undone();
    if (purged.events > 0) delete_rebuild(session);
    release_segments();
    transaction.commit();
  });
  PurgeReport report{.events = purged.events, .sources = std::ssize(purged.gone)};
  if (purged.events > 0) {
    mark(session);
    remove_unnamed(files);
    report.rebuild = rebuild;
  }
  report.holders = holders(purged.sources, session);
  report.left = wipe();
  return report;
}

bool Store::wipe_log() {
  constexpr int kPatience = 2'000;  // milliseconds: most readers are done in less
  database_.wait_at_most(kPatience);
  bool wiped = false;
  {
    Statement row = database_.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
    wiped = row.step() && row.integer(0) == 0;
  }
  database_.wait_at_most(kBusyMilliseconds);
  return wiped;
}

Store::Leftover Store::wipe() {
  Leftover left;
  if (!wipe_log()) left.reader = reader_of_log(database_.file());
  left.copies = old_copies(folder_);
  return left;
}

}  // namespace mplus::store
