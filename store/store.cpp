#include "mplus/store/store.h"

#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "mplus/core/error.h"
#include "mplus/core/file_lock.h"
#include "mplus/io/json.h"
#include "mplus/io/names.h"
#include "mplus/io/unicode.h"
#include "mplus/store/schema.h"
#include "mplus/store/text_index.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 200;

// "states/17-0a1b….safetensors" belongs to session 17, also under its temporary name.
std::optional<std::int64_t> session_of_file(const std::string& name) {
  std::int64_t session = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), session);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '-') return std::nullopt;
  return session;
}

fs::path made(const fs::path& folder) {
  std::error_code error;
  for (const char* part : {"states", "segments", "locks"}) fs::create_directories(folder / part, error);
  if (error)
    fail(ErrorCode::io, "{}: cannot make the folder of a session store: {}", folder.string(),
         error.message());
  return folder;
}

std::set<std::string> names(Database& database, std::string_view sql) {
  std::set<std::string> names;
  Statement row = database.prepare(sql);
  while (row.step()) names.insert(row.text(0));
  return names;
}

constexpr const char* kSettingsColumns =
    "shape_id, weights_id, numerics_id, dtype, capacity, keep_hidden, seed, model, delta";

std::string select_sessions(std::string_view where) {
  return fmt::format("SELECT id, name, created_at, forked_from, {} FROM sessions WHERE ready = 1 {}",
                     kSettingsColumns, where);
}

}  // namespace

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
}

Settings settings_of(engine::Engine& engine, std::uint64_t seed) {
  const memory::Layout& layout = engine.layout();
  return {.shape_id = engine.shape_id(),
          .weights_id = engine.weights_id(),
          .numerics_id = engine.numerics_id(),
          .dtype = layout.dtype,
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
  return list.dump();
}

Store::Store(const fs::path& folder)
    : folder_(made(folder)), database_(open_database(folder_ / "sessions.db")) {}

bool Store::exists(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "sessions.db", ignored);
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
  s.dtype = row.text(7) == dtype_name(DType::f32) ? DType::f32 : DType::bf16;
  s.capacity = row.is_null(8) ? memory::kUnlimited : row.integer(8);
  s.keep_hidden = row.integer(9) != 0;
  s.seed = static_cast<std::uint64_t>(row.integer(10));
  s.model = row.text(11);
  s.delta = row.text(12);
  Statement counts = database_.prepare(
      "SELECT count(*) FILTER (WHERE e.kind IN (1,2,3)), count(*) FILTER (WHERE e.kind = 2), "
      "count(DISTINCT e.source) FILTER (WHERE e.kind = 1), max(e.at) FROM events e "
      "WHERE e.session = ? AND e.undone_by IS NULL AND e.forgotten = 0");
  if (counts.bind(info.id).step()) {
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
  info.writer = FileLock::owner(lock_path(info.id));
  return info;
}

std::vector<SessionInfo> Store::list() {
  std::vector<SessionInfo> sessions;
  Statement row = database_.prepare(select_sessions("ORDER BY name"));
  while (row.step()) sessions.push_back(read_info(row));
  return sessions;
}

std::optional<SessionInfo> Store::find(std::string_view name) {
  Statement row = database_.prepare(select_sessions("AND name = ?"));
  if (!row.bind(name).step()) return std::nullopt;
  return read_info(row);
}

SessionInfo Store::get(std::string_view name) {
  if (auto info = find(name)) return *info;
  std::string known;
  for (const std::string& other : names(database_, "SELECT name FROM sessions WHERE ready = 1 LIMIT 8"))
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

std::int64_t Store::create(const std::string& name, const Settings& s, bool ready) {
  check_name(name);
  remove_unfinished();
  Transaction transaction(database_);
  require_free(name);
  std::optional<std::int64_t> capacity;
  if (s.capacity != memory::kUnlimited) capacity = s.capacity;
  database_
      .prepare(
          fmt::format("INSERT INTO sessions (name, ready, created_at, {}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                      kSettingsColumns))
      .bind(name)
      .bind(std::int64_t{ready})
      .bind(now_after(0))
      .bind(s.shape_id)
      .bind(s.weights_id)
      .bind(s.numerics_id)
      .bind(dtype_name(s.dtype))
      .bind(capacity)
      .bind(std::int64_t{s.keep_hidden})
      .bind(static_cast<std::int64_t>(s.seed))
      .bind(s.model)
      .bind(s.delta)
      .run();
  const std::int64_t session = database_.last_row();
  Journal(database_, session).append({.kind = EventKind::settings});
  transaction.commit();
  return session;
}

void Store::set_ready(std::int64_t session) {
  database_.prepare("UPDATE sessions SET ready = 1 WHERE id = ?").bind(session).run();
}

void Store::fork(const std::string& from, const std::string& to) {
  check_name(to);
  remove_unfinished();
  Transaction transaction(database_);
  const SessionInfo original = get(from);
  require_free(to);
  database_
      .prepare(fmt::format("INSERT INTO sessions (name, ready, created_at, forked_from, {0}) "
                           "SELECT ?, 1, ?, name, {0} FROM sessions WHERE id = ?",
                           kSettingsColumns))
      .bind(to)
      .bind(now_after(0))
      .bind(original.id)
      .run();
  const std::int64_t session = database_.last_row();
  Journal(database_, session).copy_events(original.id);
  for (const StateRow& state : states(original.id)) {
    database_
        .prepare(
            "INSERT INTO states (session, file, size, at, event, token, updates, pinned) "
            "SELECT ?, file, size, at, event, token, updates, pinned FROM states WHERE id = ?")
        .bind(session)
        .bind(state.id)
        .run();
    database_
        .prepare(
            "INSERT INTO state_segments (state, place, segment) SELECT ?, place, segment FROM state_segments "
            "WHERE state = ?")
        .bind(database_.last_row())
        .bind(state.id)
        .run();
  }
  transaction.commit();
}

void Store::rename(const std::string& from, const std::string& to) {
  check_name(to);
  remove_unfinished();
  Transaction transaction(database_);
  const SessionInfo session = get(from);
  require_free(to);
  database_.prepare("UPDATE sessions SET name = ? WHERE id = ?").bind(to).bind(session.id).run();
  transaction.commit();
}

void Store::remove_rows(std::int64_t session) {
  Transaction transaction(database_);
  database_.prepare("DELETE FROM sessions WHERE id = ?").bind(session).run();
  TextIndex::drop(database_, session);
  database_.execute(
      "DELETE FROM sources WHERE id NOT IN (SELECT source FROM events WHERE source IS NOT NULL UNION "
      "SELECT answer FROM events WHERE answer IS NOT NULL)");
  release_segments();
  transaction.commit();
}

void Store::remove(const std::string& name) {
  const SessionInfo session = get(name);
  const FileLock lock(lock_path(session.id), fmt::format("session {}", io::shown(name)));
  remove_rows(session.id);
  remove_loose_files(session.id);
  wipe_log();
}

void Store::remove_unfinished() {
  std::vector<std::int64_t> unfinished;
  Statement row = database_.prepare("SELECT id FROM sessions WHERE ready = 0");
  while (row.step()) unfinished.push_back(row.integer(0));
  for (std::int64_t session : unfinished) {
    if (FileLock::owner(lock_path(session))) continue;  // its maker lives
    remove_rows(session);
    remove_loose_files(session);
  }
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
  Statement row = database_.prepare(
      "SELECT id, file, size, event, token, updates, pinned FROM states WHERE session = ? "
      "ORDER BY event DESC, token DESC, id DESC");
  row.bind(session);
  std::vector<StateRow> states;
  while (row.step())
    states.push_back({row.integer(0), row.text(1), row.integer(2), row.integer(3), row.integer(4),
                      row.integer(5), row.integer(6) != 0});
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

void Store::remove_loose_files(std::int64_t session) {
  for (const char* part : {"states", "segments"}) {
    // In this order: what lies there, then who is at work, then what the database names. A file seen in the
    // first step whose writer is gone in the second has its row by the third, or never will.
    std::error_code error;
    std::vector<fs::path> loose;
    for (const auto& entry : fs::directory_iterator(folder_ / part, error)) {
      const auto owner = session_of_file(entry.path().filename().string());
      if (owner && (*owner == session || !FileLock::owner(lock_path(*owner)))) loose.push_back(entry.path());
    }
    const std::set<std::string> used = names(database_, fmt::format("SELECT file FROM {}", part));
    for (const fs::path& file : loose)
      if (used.count(file.filename().string()) == 0) fs::remove(file, error);
  }
}

bool Store::wipe_log() {
  Statement row = database_.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  return row.step() && row.integer(0) == 0;
}

}  // namespace mplus::store
