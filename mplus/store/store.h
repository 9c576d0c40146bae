// A session store: one folder with a database of sessions, sources and events (schema.h), and the files of
// states and segments beside it. One thread at a time; many processes may use the same folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/engine/engine.h"
#include "mplus/store/database/journal.h"
#include "mplus/store/database/mark.h"
#include "mplus/store/database/schema.h"
#include "mplus/store/segments/segment_file.h"

namespace mplus::store {

// In place of a numerics id: written under more than one, so values cannot be replayed bit for bit.
inline constexpr const char* kMixedNumerics = "mixed";

// What a memory is made for and how it is kept: fixed for a session's life, but for a rebuild.
struct Settings {
  std::string shape_id, weights_id, numerics_id;
  MemoryType type;
  std::int64_t capacity = memory::kUnlimited;  // M
  bool keep_hidden = false;
  std::uint64_t seed = 0;
  std::string model, delta;  // file names, for people
};
Settings settings_of(engine::Engine& engine, std::uint64_t seed, RowFormat long_term);

// What a rebuild that was stopped has left: it goes on where the same command is given again.
struct RebuildLeft {
  std::int64_t id = 0;          // of the session that holds it, which nobody sees
  Settings target;              // what the session was to become
  std::int64_t updates = 0;     // that it has written
  std::int64_t disk_bytes = 0;  // of their states and segments
  bool sound = true;            // false: its row is not what was stored
};

struct SessionInfo {
  std::int64_t id = 0;
  std::string name;
  Settings settings;
  std::int64_t created_at = 0, changed_at = 0;  // milliseconds since 1970
  std::string forked_from;
  std::int64_t events = 0;            // in force
  std::int64_t turns = 0;             // of them
  std::int64_t documents = 0;         // of them
  std::int64_t text_bytes = 0;        // of their sources
  std::int64_t updates = 0;           // in the newest state
  std::int64_t disk_bytes = 0;        // of its states and segments; forks may share them
  std::optional<std::string> writer;  // who is writing it now
  std::string damage = {};  // not empty: its row is not what was stored, so nothing above is certain
  std::optional<RebuildLeft> rebuild = {};  // where sessions are listed and shown
};

struct StateRow {
  std::int64_t id = 0;
  std::string file;
  std::int64_t size = 0;
  std::int64_t event = 0, token = 0, updates = 0;
  bool pinned = false;
  std::string header;  // checksum of the file's header; empty: a state from version 1
  bool sound = true;   // false: the row is not what was stored
};

// Throws corrupt where the file of a state is not the one that the row tells of, by its size and header.
void check_state_row(const StateRow& row, const std::filesystem::path& path);

struct SegmentRow {
  std::int64_t id = 0;
  SegmentFile file;
};

// The segments of a state as its file names them: JSON.
std::string segment_list(const std::vector<SegmentRow>& segments);

enum class Access {
  read,   // no lock; what others write meanwhile is not seen
  write,  // one process at a time; makes the session where there is none
};

struct StoreOptions {
  // read: where the folder cannot be written, it is only read (Store::read_only). Otherwise readers, too,
  // bring an older version up to date and count what was recalled.
  Access access = Access::write;
  std::function<void(const std::string&)> warn =
      {};  // what people should know: a copy was made, damage was mended
};

class Store {
 public:
  // Makes folder and database where they are missing, for nobody but their owner; a store that others can
  // read is closed to them. Throws corrupt where states or segments are there, but the database that names
  // them is not.
  explicit Store(const std::filesystem::path& folder, StoreOptions options = {});
  static bool exists(const std::filesystem::path& folder);  // a database, or what one has left behind

  Database& database() { return database_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path state_path(const std::string& file) const { return folder_ / "states" / file; }
  std::filesystem::path segment_path(const std::string& file) const { return folder_ / "segments" / file; }
  std::filesystem::path lock_path(std::int64_t session) const;
  std::filesystem::path mark_path(std::int64_t session) const;
  void warn(const std::string& message) const;
  bool read_only() const { return read_only_; }  // the folder cannot be written, and nothing is

  std::vector<SessionInfo> list();  // damaged ones, too
  std::int64_t disk_bytes();        // of database, states and segments; what forks share counts once
  // Throws corrupt where the session's row is damaged, or lost.
  std::optional<SessionInfo> find(std::string_view name);
  SessionInfo get(std::string_view name);      // throws not_found naming what there is
  SessionInfo look_at(std::string_view name);  // the same, also where its row is damaged

  // A new session; throws invalid_argument where the name is taken or impossible. With a `lock` it is not
  // ready: locked before anybody can see it, not shown, and removed when its maker dies.
  std::int64_t create(const std::string& name, const Settings& settings,
                      std::optional<FileLock>* lock = nullptr);
  void set_ready(std::int64_t session);
  // Sets columns ("name = ?") of a session's row; throws corrupt if that is not what was stored.
  template <class... Values>
  void change_session(std::int64_t session, std::string_view set, const Values&... values) {
    Statement update = change_session_statement(set);
    (update.bind(values), ...);
    update.bind(session).run();
    finish_change(session);
  }
  // Notes how far a session has come (mark.h). After the commit; a failure is only warned of.
  void mark(std::int64_t session, bool sync = true);
  // What the database lacks of what was acknowledged; empty: nothing. `mark` was read before the database.
  std::string behind_mark(std::int64_t session, const MarkFound& mark);
  // Sessions that were acknowledged, but are not in the database.
  std::vector<Mark> lost_sessions();
  // Puts a database in order that damage was met in: `rows` changes what is known to be damaged; then pages
  // are written anew, if all tables can be walked. Throws corrupt if they cannot.
  void mend(const std::function<void()>& rows = [] {});
  // As it is now, under another name; shares texts, states and segments.
  void fork(const std::string& from, const std::string& to);
  void rename(const std::string& from, const std::string& to);
  // What a deletion left of the text on disk, and where. Empty: nothing.
  struct Leftover {
    std::string reader =
        {};  // who keeps old pages alive: "process 4711 (mplus)"; it goes when that has ended
    std::vector<std::filesystem::path> copies = {};  // of the database from before: nobody changes them
  };
  Leftover remove(const std::string& name);  // throws io while another process writes it
  // A session that could not be made to its end; never fails. The caller holds its lock.
  void discard(std::int64_t session) noexcept;
  // The texts of what was undone. Throws io while another process writes the session.
  struct PurgeReport {
    std::int64_t events = 0, sources = 0;     // that lost their text; texts that are gone
    std::vector<std::string> holders = {};    // other sessions that hold some of it
    std::optional<RebuildLeft> rebuild = {};  // that went with them: it held what they had left in memory
    Leftover left = {};
  };
  PurgeReport purge(const std::string& name);
  // What a rebuild keeps of a session while it is under way, or was stopped (store_rebuild.cpp). The first
  // two inside the caller's transaction.
  std::int64_t insert_rebuild(std::int64_t session, const Settings& target);
  void delete_rebuild(std::int64_t session);
  std::optional<RebuildLeft> rebuild_left(std::int64_t session);
  // Returns what was dropped. Throws io while another process writes the session.
  std::optional<RebuildLeft> drop_rebuild(const std::string& name);
  // Other sessions that hold one of these sources.
  std::vector<std::string> holders(const std::vector<std::int64_t>& sources, std::int64_t except);

  std::vector<StateRow> states(std::int64_t session);  // newest first
  std::vector<SegmentRow> segments(std::int64_t state);
  // Files of this session that no row names, left by a process that died. The caller is its writer. Nothing
  // goes that the journal does not lead to.
  void remove_loose_files(std::int64_t session);
  // Files of states and segments that a session, or its rebuild, uses, and no other one.
  std::vector<std::filesystem::path> own_files(std::int64_t session);
  void remove_unnamed(
      const std::vector<std::filesystem::path>& files);  // of them, those no row names any more
  // Sessions whose maker died before they were complete: nobody has seen them. Whoever opens a store that can
  // be written does this.
  void remove_unfinished();
  // Moves what no row names, and a database that is no longer one, to a folder of its own, and returns that.
  static std::filesystem::path set_aside(const std::filesystem::path& folder);
  // Rows of segments that no state uses. Inside the caller's transaction; their files go with
  // remove_loose_files.
  void release_segments();
  // Text that was deleted leaves the write-ahead log, too. False: a reader in another process still holds it.
  bool wipe_log();
  Leftover wipe();  // the same, and what is left

 private:
  SessionInfo read_info(const Statement& row);
  void count(SessionInfo& info);
  Statement change_session_statement(std::string_view set);
  void finish_change(std::int64_t session);
  std::string write_anew(const std::function<void()>& rows);
  void require_whole();
  void complete_version1();
  // Before a session is made or deleted: should the process die, its mark alone tells nothing.
  void mark_intent(std::int64_t session, const std::string& name, bool deletion);
  void forget_mark(std::int64_t session);
  std::set<std::string> named_files();
  std::vector<std::filesystem::path> files_of(std::int64_t session);
  std::int64_t insert_row(const std::string& name, const Settings& settings, SessionStage stage);
  static std::string select_sessions(std::string_view which);
  static std::string select_ready(std::string_view more);
  std::int64_t insert_session(const std::string& name, const Settings& settings,
                              std::optional<FileLock>* lock);
  std::int64_t insert_fork(const std::string& from, const std::string& to);
  // Runs a change. If it meets a damaged page, the database is mended first.
  template <class Change>
  auto writing(Change&& change) {
    try {
      return change();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt || database_.damaged_pages().empty()) throw;
      mend();
    }
    return change();
  }
  void require_free(const std::string& name);  // throws invalid_argument
  void remove_rows(std::int64_t session);
  void remove_session(std::int64_t session, const std::string& name);  // also on a full disk
  void remove_files_of(std::int64_t session);  // all that no row names; the session is gone

  StoreOptions options_;
  std::filesystem::path folder_;
  bool read_only_ = false;
  bool migrated_ = false;  // just now, from a version without marks
  Database database_;
};

inline constexpr std::string_view kNoSession = "none";  // commands mean none at all by it
void check_name(const std::string& name);  // throws invalid_argument: what a session may be called

}  // namespace mplus::store
