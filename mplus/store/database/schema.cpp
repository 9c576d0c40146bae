#include "mplus/store/database/schema.h"

#include <fcntl.h>
#include <unistd.h>

#include "mplus/core/error.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/core/files/private_file.h"
#include "mplus/store/database/page_check.h"
#include "mplus/store/database/row_sum.h"
#include "mplus/store/database/version1.h"

namespace mplus::store {
namespace {

// Version 1. A new database is made by the same steps as an old one is brought up to date.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: it names files
  name TEXT NOT NULL UNIQUE,
  ready INTEGER NOT NULL,                -- 0 while it is being made: not shown, removed if left behind; 1 then;
                                         -- 2 what a rebuild has written (store_rebuild.cpp): not shown
  created_at INTEGER NOT NULL,           -- milliseconds since 1970
  shape_id TEXT NOT NULL,
  weights_id TEXT NOT NULL,
  numerics_id TEXT NOT NULL,
  dtype TEXT NOT NULL,
  capacity INTEGER,                      -- M; NULL: no limit
  keep_hidden INTEGER NOT NULL,
  seed INTEGER NOT NULL,                 -- 64 bits, signed here
  model TEXT NOT NULL,                   -- file names, for people
  delta TEXT NOT NULL,
  forked_from TEXT
) STRICT;

CREATE TABLE sources (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  speaker INTEGER NOT NULL,              -- 0 document, 1 system, 2 user, 3 assistant
  size INTEGER NOT NULL,                 -- bytes of the text
  sha256 TEXT NOT NULL,                  -- of the text, or of the ids as 32-bit little-endian integers
  text BLOB,                             -- zstd
  ids BLOB                               -- zstd of 32-bit integers, where the source was given as ids
) STRICT;

CREATE TABLE events (
  session INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  kind INTEGER NOT NULL,                 -- 0 settings, 1 text, 2 turn, 3 flush, 4 forget, 5 undo, 6 rebuild, 7 import
  at INTEGER NOT NULL,
  undone_by INTEGER,                     -- number of the undo event
  source INTEGER REFERENCES sources(id), -- text: its source; turn: the message
  answer INTEGER REFERENCES sources(id), -- turn: the answer
  token_begin INTEGER NOT NULL DEFAULT 0,
  token_end INTEGER NOT NULL DEFAULT 0,
  byte_begin INTEGER NOT NULL DEFAULT 0,
  byte_end INTEGER NOT NULL DEFAULT 0,
  complete INTEGER NOT NULL DEFAULT 1,   -- text: 0 while more of it may come
  forgotten INTEGER NOT NULL DEFAULT 0,  -- text and turn: the source is gone, replay leaves it out
  ids BLOB,                              -- turn: the answer's token ids
  recalled BLOB,                         -- turn: births of the rows attended to
  details TEXT NOT NULL DEFAULT '{}',    -- JSON, by kind
  checksum INTEGER NOT NULL,             -- XXH3 over the columns above that never change
  PRIMARY KEY (session, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_by_source ON events(source) WHERE source IS NOT NULL;
CREATE INDEX events_by_answer ON events(answer) WHERE answer IS NOT NULL;

CREATE TABLE segments (
  id INTEGER PRIMARY KEY,
  file TEXT NOT NULL UNIQUE,             -- in the folder segments/
  size INTEGER NOT NULL,
  header TEXT NOT NULL                   -- XXH3 of the file's header, which holds the tensors' checksums
) STRICT;

CREATE TABLE states (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  file TEXT NOT NULL,                    -- in the folder states/
  size INTEGER NOT NULL,
  at INTEGER NOT NULL,
  event INTEGER NOT NULL,                -- the last event in it
  token INTEGER NOT NULL,                -- of that event's text, the tokens in it
  updates INTEGER NOT NULL,
  pinned INTEGER NOT NULL                -- 1: what an import brought; no events lead to it
) STRICT;
CREATE INDEX states_by_session ON states(session);

CREATE TABLE state_segments (
  state INTEGER NOT NULL REFERENCES states(id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  segment INTEGER NOT NULL REFERENCES segments(id),
  PRIMARY KEY (state, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX state_segments_by_segment ON state_segments(segment);

-- How often answers drew on a source: best effort, not part of any state.
CREATE TABLE recalls (
  session INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  source INTEGER NOT NULL REFERENCES sources(id) ON DELETE CASCADE,
  answers INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  PRIMARY KEY (session, source)
) STRICT, WITHOUT ROWID;
)sql";

// Version 2: checksums over what decides in a row (row_sum.h), and of the header of a state's file. Pages
// have checksums as well (page_check.h).
constexpr const char* kVersion2 = R"sql(
ALTER TABLE sessions ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE states ADD COLUMN header TEXT NOT NULL DEFAULT '';  -- XXH3 of the file's header; empty: not known
ALTER TABLE states ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
)sql";

void check_owner(Database& database, std::int64_t version) {
  const std::string file = database.file().string();
  const bool damaged = database.damaged_pages().count(1) > 0;
  const std::int64_t application = database.integer("PRAGMA application_id");
  // First: another version may keep other checksums.
  if (application == kApplicationId && version > kSchemaVersion)
    fail(ErrorCode::unsupported,
         "{}: session store of version {}; this program knows versions up to {}: use the program that wrote "
         "it, or a newer one{}",
         file, version, kSchemaVersion, damaged ? " (or its first page, which says so, is damaged)" : "");
  if (damaged)
    fail(ErrorCode::corrupt,
         "{}: its first page, which lists the tables, is damaged; `mplus session export NAME FILE --salvage` "
         "saves what is left of a session",
         file);
  const bool empty = database.integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (application != kApplicationId && !(application == 0 && empty))
    fail(ErrorCode::unsupported, "{}: a database, but not of a session store", file);
}

std::int64_t version_of(Database& database) { return database.integer("PRAGMA user_version"); }

void set_up(Database& database) {
  database.execute(
      "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; "
      "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY");  // no text in a folder for everybody's
                                                                   // files
}

Database open_checked(const std::filesystem::path& file) {
  Database database(file);
  set_up(database);
  return database;
}

// One step per version, inside a transaction.
void step_up(Database& database, std::int64_t from) {
  if (from < 1) database.execute(kVersion1);
  if (from < 2) {
    database.execute(kVersion2);
    for (const auto& [table, sum] : {std::pair{"sessions", kSessionSum}, std::pair{"sources", kSourceSum},
                                     std::pair{"states", kStateSum}})
      database.execute(fmt::format("UPDATE {} SET checksum = {}", table, sum));
    if (from == 1) renew_version1_events(database);
  }
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
}

// SQLite makes files that everybody may read. An empty one it takes as it is, and gives those beside it
// (-wal, -shm, -journal) the same mode.
void make_file(const std::filesystem::path& file) {
  const int descriptor = open_private(file, O_RDWR | O_CREAT | O_EXCL);
  if (descriptor >= 0) ::close(descriptor);  // whatever hinders it, SQLite says better
}

std::filesystem::path free_name(const std::filesystem::path& file, std::int64_t version) {
  for (int n = 0;; ++n) {
    std::filesystem::path name = file;
    name += fmt::format(".v{}{}", version, n ? fmt::format("-{}", n) : "");
    if (!std::filesystem::exists(name)) return name;
  }
}

// Nobody else may have the database open: a process of an older version would not keep checksums.
void migrate(const std::filesystem::path& file, const std::function<void(const std::string&)>& said) {
  const FileLock lock(file.string() + ".migration", "the session store");
  Database database = open_checked(file);
  database.execute("PRAGMA locking_mode = EXCLUSIVE");
  const std::int64_t version = version_of(database);
  check_owner(database, version);
  if (version == kSchemaVersion) return;  // another process was first
  const std::filesystem::path copy = free_name(file, version);
  make_file(copy);
  database.prepare("VACUUM INTO ?").bind(copy.string()).run();
  database.integer("PRAGMA wal_checkpoint(TRUNCATE)");
  PageChecks& checks = *page_checks(database.handle());
  reserve_checksums(database.handle());
  checks.checked = checks.may_commit = true;  // pages that are read have no checksum yet; those written have
  database.execute("VACUUM");
  database.integer("PRAGMA wal_checkpoint(TRUNCATE)");
  Transaction transaction(database);
  step_up(database, version);
  transaction.commit();
  said(fmt::format(
      "{}: brought from version {} to {}; the old one is kept as {}. It still holds every text, also what is "
      "forgotten from now on: remove it when you no longer need it",
      file.string(), version, kSchemaVersion, copy.string()));
}

}  // namespace

namespace {

// `alone`: no other process may have it open, and SQLite needs no file for what processes share.
Database opened(const std::filesystem::path& file, const std::function<void(const std::string&)>& said,
                bool alone) {
  std::error_code ignored;
  const bool is_new =
      !std::filesystem::exists(file, ignored) || std::filesystem::file_size(file, ignored) == 0;
  if (is_new) make_file(file);
  Database database = open_checked(file);
  if (alone) database.execute("PRAGMA locking_mode = EXCLUSIVE");
  if (is_new) reserve_checksums(database.handle());
  const std::int64_t version = version_of(database);
  check_owner(database, version);
  if (version > 0 && version < kSchemaVersion) {
    database = Database(":memory:");  // closed while it is brought up to date
    migrate(file, said);
    database = open_checked(file);
    check_owner(database, version_of(database));
  }
  if (database.text("PRAGMA journal_mode = WAL") != "wal")
    fail(ErrorCode::io, "{}: the file system cannot hold a database with a write-ahead log",
         database.file().string());
  database.execute("PRAGMA synchronous = FULL");
  prepare_database(database);
  return database;
}

}  // namespace

Database open_database(const std::filesystem::path& file,
                       const std::function<void(const std::string&)>& said) {
  try {
    return opened(file, said, false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io || !disk_is_full(file.parent_path())) throw;
  }
  return opened(file, said, true);  // what is in it can still be read, and deleted
}

Database open_database_read_only(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path log = file.string() + "-wal", shared = file.string() + "-shm";
  const auto holds_changes = [&] { return std::filesystem::file_size(log, error) > 0 && !error; };
  const bool has_log = std::filesystem::exists(log, error),
             has_shared = std::filesystem::exists(shared, error);
  const bool has_changes = holds_changes();
  const auto refuse = [&](const std::string& why) {
    fail(ErrorCode::io,
         "{}: holds changes that are not in the database yet, and they cannot be read where the folder "
         "cannot be "
         "written ({}). Any command of its owner brings them in; or copy the folder to a place of your own",
         log.string(), why);
  };
  if (has_changes && !has_shared) refuse(fmt::format("{} is missing", shared.filename().string()));
  try {
    const bool live = has_log && has_shared;  // another process may be writing: its locks count
    Database database(file, live ? Database::Access::read_only : Database::Access::immutable);
    // Whoever wrote since then may be half way through bringing it into the file: by their locks, then.
    if (!live && !has_changes && holds_changes()) return open_database_read_only(file);
    set_up(database);
    const std::int64_t version = version_of(database);
    check_owner(database, version);
    if (version < kSchemaVersion)
      fail(ErrorCode::unsupported,
           "{}: session store of version {}; it is brought to version {} when it is opened where it can be "
           "written: copy the folder to a place of your own",
           file.string(), version, kSchemaVersion);
    return database;
  } catch (const Error& problem) {
    if (problem.code() != ErrorCode::io || !has_changes) throw;
    refuse(problem.what());
  }
  return Database(":memory:");  // not reached
}

void prepare_database(Database& database) {
  set_up(database);
  check_owner(database, version_of(database));
  if (version_of(database) == kSchemaVersion) return;
  Transaction transaction(database);
  const std::int64_t version = version_of(database);  // another process may have been first
  check_owner(database, version);
  if (version < kSchemaVersion) step_up(database, version);
  transaction.commit();
}

}  // namespace mplus::store
