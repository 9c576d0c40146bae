#include "mplus/store/store.h"

#include <sqlite3.h>

#include <algorithm>
#include <set>

#include "mplus/core/error.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/io/pretokenizer/unicode.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"
#include "mplus/store/damage/store_damage.h"
#include "mplus/store/database/row_sum.h"
#include "mplus/store/database/schema.h"
#include "mplus/store/store_folder.h"
#include "mplus/store/words/text_index.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 200;

std::set<std::string> names(Database& database, std::string_view sql) {
  std::set<std::string> names;
  Statement row = database.prepare(sql);
  while (row.step()) names.insert(row.text(0));
  return names;
}

// The checksum of a session's row, after a change that is meant.
void seal(Database& database, std::int64_t session) {
  database.prepare(fmt::format("UPDATE sessions SET checksum = {} WHERE id = ?", kSessionSum))
      .bind(session)
      .run();
}

constexpr const char* kSettingsColumns =
    "shape_id, weights_id, numerics_id, dtype, capacity, keep_hidden, seed, model, delta";

}  // namespace

std::string Store::select_sessions(std::string_view which) {
  return fmt::format("SELECT id, name, created_at, forked_from, {0}, checksum = {1} FROM sessions WHERE {2}",
                     kSettingsColumns, kSessionSum, which);
}

// Sessions that are ready, and damaged ones: whether they are is not known. Of a rebuild nothing can be lost.
std::string Store::select_ready(std::string_view more) {
  return select_sessions(
      fmt::format("(ready = {} OR (checksum <> {} AND name NOT GLOB ' rebuild of [0-9]*')) {}",
                  number_of(SessionStage::ready), kSessionSum, more));
}

void check_name(const std::string& name) {
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::invalid_argument, "session name {}: {}", io::shown(name), why);
  };
  if (name.empty()) refuse("it is empty");
  if (name.size() > kLongestName) refuse(fmt::format("longer than {} bytes", kLongestName));
  if (!io::valid_utf8(name)) refuse("not UTF-8");
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    refuse("it holds a control character");
  if (name.front() == '-') refuse("it begins like an option");
  if (name.front() == ' ' || name.back() == ' ') refuse("it begins or ends with a space");
  if (name == kNoSession) refuse("the word for no session at all (--session none)");
}

Settings settings_of(engine::Engine& engine, std::uint64_t seed, RowFormat long_term) {
  const memory::Layout& layout = engine.layout();
  return {.shape_id = engine.shape_id(),
          .weights_id = engine.weights_id(),
          .numerics_id = engine.numerics_id(long_term),
          .type = {layout.dtype, long_term},
          .capacity = layout.M,
          .keep_hidden = layout.keep_hidden,
          .seed = seed,
          .model = engine.files().model.filename().string(),
          .delta = engine.files().delta.value_or("").filename().string()};
}

std::string segment_list(const std::vector<SegmentRow>& segments) {
  io::Json list = io::Json::array();
  for (const SegmentRow& segment : segments)
    list.push_back({segment.file.file, segment.file.size, segment.file.header});
  // Names come out of the database: bytes of a damaged one must not end the comparison with what the state
  // lists.
  return list.dump(-1, ' ', false, io::Json::error_handler_t::replace);
}

Store::Store(const fs::path& folder, StoreOptions options)
    : options_(std::move(options)),
      folder_(folder),
      read_only_(options_.access == Access::read && !can_be_written(folder)),
      database_(open_store_folder(folder, read_only_, [this](const std::string& message) {
        migrated_ = true;
        warn(message);
      })) {
  require_whole();
  if (migrated_) complete_version1();
  if (!read_only_ && database_.damaged_pages().empty()) try {
      remove_unfinished();
    } catch (const std::exception&) {  // reading goes on; whoever makes a session meets it again
    }
}

// What a store of version 1 did not keep beside its rows.
void Store::complete_version1() {
  std::vector<std::pair<std::int64_t, std::string>> headers;
  Statement state = database_.prepare("SELECT id, file FROM states");
  while (state.step()) try {
      headers.emplace_back(state.integer(0), header_checksum(state_path(state.text(1))));
    } catch (const Error&) {  // a state that is passed over when the session is opened
    }
  Transaction transaction(database_);
  for (const auto& [id, header] : headers) {
    database_.prepare("UPDATE states SET header = ? WHERE id = ?").bind(header).bind(id).run();
    database_.prepare(fmt::format("UPDATE states SET checksum = {} WHERE id = ?", kStateSum)).bind(id).run();
  }
  transaction.commit();
  Statement row = database_.prepare("SELECT id FROM sessions");
  while (row.step()) mark(row.integer(0));
}

void Store::warn(const std::string& message) const {
  if (options_.warn) options_.warn(message);
}

bool Store::exists(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "sessions.db", ignored) || !left_behind(folder).empty();
}

fs::path Store::lock_path(std::int64_t session) const {
  return folder_ / "locks" / fmt::format("{}.lock", session);
}

SessionInfo Store::read_info(const Statement& row) {
  SessionInfo info;
  info.id = row.integer(0);
  info.name = row.text(1);
  info.created_at = row.integer(2);
  info.forked_from = row.text(3);
  Settings& s = info.settings;
  s.shape_id = row.text(4);
  s.weights_id = row.text(5);
  s.numerics_id = row.text(6);
  s.type = memory_type_from_name(row.text(7)).value_or(MemoryType{});
  s.capacity = row.is_null(8) ? memory::kUnlimited : row.integer(8);
  s.keep_hidden = row.integer(9) != 0;
  s.seed = static_cast<std::uint64_t>(row.integer(10));
  s.model = row.text(11);
  s.delta = row.text(12);
  if (row.integer(13) == 0)
    info.damage =
        fmt::format("{}: session {}: its row is damaged: seed, sizes or names are not what was stored",
                    database_.file().string(), io::shown(info.name));
  count(info);
  info.writer = FileLock::owner(lock_path(info.id));
  return info;
}

void Store::count(SessionInfo& info) {
  Statement counts = database_.prepare(
      "SELECT count(*) FILTER (WHERE e.kind IN (?2, ?3, ?4)), count(*) FILTER (WHERE e.kind = ?3), "
      "count(DISTINCT e.source) FILTER (WHERE e.kind = ?2), max(e.at) FROM events e "
      "WHERE e.session = ?1 AND e.undone_by IS NULL AND e.forgotten = 0");
  counts.bind(info.id);
  for (const EventKind kind : {EventKind::text, EventKind::turn, EventKind::flush})
    counts.bind(static_cast<std::int64_t>(kind));
  if (counts.step()) {
    info.events = counts.integer(0);
    info.turns = counts.integer(1);
    info.documents = counts.integer(2);
    info.changed_at = counts.integer(3);
  }
  Statement bytes = database_.prepare(
      "SELECT coalesce(sum(size), 0) FROM sources WHERE id IN (SELECT source FROM events WHERE session = ?1 "
      "AND "
      "undone_by IS NULL UNION SELECT answer FROM events WHERE session = ?1 AND undone_by IS NULL)");
  if (bytes.bind(info.id).step()) info.text_bytes = bytes.integer(0);
  Statement files = database_.prepare(
      "SELECT (SELECT coalesce(max(updates), 0) FROM states WHERE session = ?1), "
      "(SELECT coalesce(sum(size), 0) FROM states WHERE session = ?1) + (SELECT coalesce(sum(size), 0) FROM "
      "segments "
      "WHERE id IN (SELECT segment FROM state_segments JOIN states ON state = states.id WHERE session = "
      "?1))");
  if (files.bind(info.id).step()) {
    info.updates = files.integer(0);
    info.disk_bytes = files.integer(1);
  }
}

std::vector<SessionInfo> Store::list() {
  std::vector<SessionInfo> sessions;
  Statement row = database_.prepare(select_ready("ORDER BY name"));
  while (row.step()) sessions.push_back(read_info(row));
  for (SessionInfo& info : sessions) info.rebuild = rebuild_left(info.id);
  return sessions;
}

std::int64_t Store::disk_bytes() {
  std::int64_t bytes = database_.integer(
      "SELECT (SELECT coalesce(sum(size), 0) FROM (SELECT DISTINCT file, size FROM states)) + "
      "(SELECT coalesce(sum(size), 0) FROM (SELECT DISTINCT file, size FROM segments))");
  for (const char* of : {"", "-wal"}) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(database_.file().string() + of, error);
    if (!error) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

SessionInfo Store::look_at(std::string_view name) {
  Statement row = database_.prepare(select_ready("AND name = ?"));
  SessionInfo info = row.bind(name).step() ? read_info(row) : get(name);
  info.rebuild = rebuild_left(info.id);
  return info;
}

std::optional<SessionInfo> Store::find(std::string_view name) {
  Statement row = database_.prepare(select_ready("AND name = ?"));
  if (row.bind(name).step()) {
    SessionInfo info = read_info(row);
    if (!info.damage.empty())
      fail(ErrorCode::corrupt, "{}; `mplus session export {} FILE --salvage` saves what it holds",
           info.damage, io::shown(name));
    return info;
  }
  for (const Mark& lost : lost_sessions())
    if (lost.name == name)
      fail(ErrorCode::corrupt,
           "session {}: {} does not have it, though {} events of it were acknowledged: is the file {}-wal "
           "lost, or "
           "the database an old copy? `mplus session export {} FILE --salvage` saves what is left of it",
           io::shown(name), database_.file().string(), lost.event + 1, database_.file().filename().string(),
           io::shown(name));
  return std::nullopt;
}

SessionInfo Store::get(std::string_view name) {
  if (auto info = find(name)) return *info;
  std::string known;
  for (const std::string& other : names(
           database_,
           fmt::format("SELECT name FROM sessions WHERE ready = {} LIMIT 8", number_of(SessionStage::ready))))
    known += (known.empty() ? "" : ", ") + io::shown(other);
  fail(ErrorCode::not_found, "session {}: there is none of that name in {}{}", io::shown(name),
       folder_.string(),
       known.empty() ? "; `mplus remember` and `mplus chat` make one" : "; there are: " + known);
}

void Store::require_free(const std::string& name) {
  Statement taken = database_.prepare("SELECT 1 FROM sessions WHERE name = ?");
  if (taken.bind(name).step())
    fail(ErrorCode::invalid_argument,
         "session {}: there is one of that name already; choose another, or delete it", io::shown(name));
}

std::int64_t Store::insert_row(const std::string& name, const Settings& s, SessionStage stage) {
  std::optional<std::int64_t> capacity;
  if (s.capacity != memory::kUnlimited) capacity = s.capacity;
  database_
      .prepare(
          fmt::format("INSERT INTO sessions (name, ready, created_at, {}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                      kSettingsColumns))
      .bind(name)
      .bind(number_of(stage))
      .bind(now_after(0))
      .bind(s.shape_id)
      .bind(s.weights_id)
      .bind(s.numerics_id)
      .bind(memory_type_name(s.type))
      .bind(capacity)
      .bind(std::int64_t{s.keep_hidden})
      .bind(static_cast<std::int64_t>(s.seed))
      .bind(s.model)
      .bind(s.delta)
      .run();
  const std::int64_t session = database_.last_row();
  seal(database_, session);
  return session;
}

std::int64_t Store::insert_session(const std::string& name, const Settings& s,
                                   std::optional<FileLock>* lock) {
  Transaction transaction(database_);
  require_free(name);
  const std::int64_t session = insert_row(name, s, lock ? SessionStage::making : SessionStage::ready);
  Journal(database_, session).append({.kind = EventKind::settings});
  if (lock) lock->emplace(lock_path(session), fmt::format("session {}", io::shown(name)));
  try {
    mark_intent(session, name, false);
    transaction.commit();
  } catch (...) {
    forget_mark(session);
    throw;
  }
  return session;
}

std::int64_t Store::create(const std::string& name, const Settings& s, std::optional<FileLock>* lock) {
  check_name(name);
  remove_unfinished();
  const std::int64_t session = writing([&] { return insert_session(name, s, lock); });
  mark(session);
  return session;
}

void Store::set_ready(std::int64_t session) {
  change_session(session, "ready = ?", number_of(SessionStage::ready));
}

Statement Store::change_session_statement(std::string_view set) {
  return database_.prepare(
      fmt::format("UPDATE sessions SET {} WHERE id = ? AND checksum = {}", set, kSessionSum));
}

void Store::finish_change(std::int64_t session) {
  if (database_.changes() != 1)
    fail(ErrorCode::corrupt, "{}: session {}: its row is damaged: nothing of it is changed",
         database_.file().string(), session);
  seal(database_, session);
}

std::int64_t Store::insert_fork(const std::string& from, const std::string& to) {
  Transaction transaction(database_);
  const SessionInfo original = get(from);
  require_free(to);
  database_
      .prepare(fmt::format("INSERT INTO sessions (name, ready, created_at, forked_from, {0}) "
                           "SELECT ?, ?, ?, name, {0} FROM sessions WHERE id = ?",
                           kSettingsColumns))
      .bind(to)
      .bind(number_of(SessionStage::ready))
      .bind(now_after(0))
      .bind(original.id)
      .run();
  const std::int64_t session = database_.last_row();
  seal(database_, session);
  Journal(database_, session).copy_events(original.id);
  for (const StateRow& state : states(original.id)) {
    database_
        .prepare(
            "INSERT INTO states (session, file, size, at, event, token, updates, pinned, header, checksum) "
            "SELECT ?, file, size, at, event, token, updates, pinned, header, checksum FROM states WHERE "
            "id = ?")
        .bind(session)
        .bind(state.id)
        .run();
    database_
        .prepare(
            "INSERT INTO state_segments (state, place, segment) SELECT ?, place, segment FROM "
            "state_segments "
            "WHERE state = ?")
        .bind(database_.last_row())
        .bind(state.id)
        .run();
  }
  mark_intent(session, to, false);
  transaction.commit();
  return session;
}

void Store::fork(const std::string& from, const std::string& to) {
  check_name(to);
  remove_unfinished();
  mark(writing([&] { return insert_fork(from, to); }));
}

void Store::rename(const std::string& from, const std::string& to) {
  check_name(to);
  remove_unfinished();
  mark(writing([&] {
    Transaction transaction(database_);
    const SessionInfo session = get(from);
    require_free(to);
    change_session(session.id, "name = ?", to);
    transaction.commit();
    return session.id;
  }));
}

std::vector<std::string> Store::holders(const std::vector<std::int64_t>& sources, std::int64_t except) {
  std::set<std::string> names;
  for (std::int64_t source : sources) {
    Statement row = database_.prepare(
        "SELECT DISTINCT s.name FROM events e JOIN sessions s ON s.id = e.session WHERE e.session <> ?1 AND "
        "(e.source = ?2 OR e.answer = ?2)");
    row.bind(except).bind(source);
    while (row.step()) names.insert(row.text(0));
  }
  return {names.begin(), names.end()};
}

std::vector<StateRow> Store::states(std::int64_t session) {
  Statement row = database_.prepare(fmt::format(
      "SELECT id, file, size, event, token, updates, pinned, header, checksum = {} FROM states WHERE "
      "session = ? ORDER BY event DESC, token DESC, id DESC",
      kStateSum));
  row.bind(session);
  std::vector<StateRow> states;
  while (row.step())
    states.push_back({row.integer(0), row.text(1), row.integer(2), row.integer(3), row.integer(4),
                      row.integer(5), row.integer(6) != 0, row.text(7), row.integer(8) != 0});
  return states;
}

std::vector<SegmentRow> Store::segments(std::int64_t state) {
  Statement row = database_.prepare(
      "SELECT s.id, s.file, s.size, s.header FROM state_segments u JOIN segments s ON s.id = u.segment "
      "WHERE u.state = ? ORDER BY u.place");
  row.bind(state);
  std::vector<SegmentRow> segments;
  while (row.step()) segments.push_back({row.integer(0), {row.text(1), row.integer(2), row.text(3)}});
  return segments;
}

void Store::release_segments() {
  database_.execute("DELETE FROM segments WHERE id NOT IN (SELECT segment FROM state_segments)");
}

}  // namespace mplus::store
