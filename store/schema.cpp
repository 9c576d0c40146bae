#include "mplus/store/schema.h"

#include "mplus/core/error.h"

namespace mplus::store {
namespace {

// One step per version; step i leads from version i to i + 1.
constexpr const char* kSteps[] = {
    R"sql(
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: it names files
  name TEXT NOT NULL UNIQUE,
  ready INTEGER NOT NULL,                -- 0 while a session is being made: not shown, removed if left behind
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
)sql",
};
static_assert(std::size(kSteps) == kSchemaVersion);

void check_owner(Database& database, std::int64_t version) {
  const std::int64_t application = database.integer("PRAGMA application_id");
  const bool empty = database.integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (application != kApplicationId && !(application == 0 && empty))
    fail(ErrorCode::unsupported, "{}: a database, but not of a session store", database.file().string());
  if (version > kSchemaVersion)
    fail(ErrorCode::unsupported,
         "{}: session store of version {}; this program knows up to {}: use a newer one",
         database.file().string(), version, kSchemaVersion);
}

}  // namespace

Database open_database(const std::filesystem::path& file) {
  Database database(file);
  database.execute("PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF");
  check_owner(database, database.integer("PRAGMA user_version"));
  if (database.text("PRAGMA journal_mode = WAL") != "wal")
    fail(ErrorCode::io, "{}: the file system cannot hold a database with a write-ahead log",
         database.file().string());
  database.execute("PRAGMA synchronous = FULL");
  if (database.integer("PRAGMA user_version") == kSchemaVersion) return database;
  Transaction transaction(database);
  const std::int64_t version =
      database.integer("PRAGMA user_version");  // another process may have been first
  check_owner(database, version);
  for (std::int64_t v = version; v < kSchemaVersion; ++v) database.execute(kSteps[v]);
  database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  transaction.commit();
  return database;
}

}  // namespace mplus::store
