// What a rebuild has written by now is kept under a session of its own (SessionStage::rebuild), so that
// nobody sees it, and its name tells whose it is. It has the settings the session is to get, one state, and
// the events that the state was made of as they are to be, without their sources. It is a cache: without it a
// rebuild begins anew.
#include "mplus/core/error.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/io/text/names.h"
#include "mplus/store/store.h"

namespace mplus::store {
namespace {

// No session can be called so (check_name).
std::string name_of_rebuild(std::int64_t session) { return fmt::format(" rebuild of {}", session); }

}  // namespace

std::int64_t Store::insert_rebuild(std::int64_t session, const Settings& target) {
  return insert_row(name_of_rebuild(session), target, SessionStage::rebuild);
}

void Store::delete_rebuild(std::int64_t session) {
  database_.prepare("DELETE FROM sessions WHERE name = ?").bind(name_of_rebuild(session)).run();
}

std::optional<RebuildLeft> Store::rebuild_left(std::int64_t session) {
  Statement row = database_.prepare(select_sessions("name = ?"));
  const std::string name = name_of_rebuild(session);
  if (!row.bind(name).step()) return std::nullopt;
  const SessionInfo info = read_info(row);
  return RebuildLeft{.id = info.id,
                     .target = info.settings,
                     .updates = info.updates,
                     .disk_bytes = info.disk_bytes,
                     .sound = info.damage.empty()};
}

std::optional<RebuildLeft> Store::drop_rebuild(const std::string& name) {
  const std::int64_t session = look_at(name).id;
  const FileLock lock(lock_path(session), fmt::format("session {}", io::shown(name)));
  std::optional<RebuildLeft> left = rebuild_left(session);
  const auto files = own_files(session);
  writing([&] {
    Transaction transaction(database_);
    delete_rebuild(session);
    release_segments();
    transaction.commit();
  });
  remove_unnamed(files);
  wipe_log();
  return left;
}

}  // namespace mplus::store
