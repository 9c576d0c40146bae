#include "mplus/store/damage/store_damage.h"

#include <sqlite3.h>

#include <charconv>
#include <ctime>
#include <map>

#include "mplus/core/error.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/core/files/private_file.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/store/database/page_check.h"
#include "mplus/store/database/schema.h"
#include "mplus/store/store.h"
#include "mplus/store/words/text_index.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileFolders[] = {"states", "segments"};
constexpr std::int64_t kBeingMade = -1, kBeingDeleted = -2;  // in place of an event's number in a mark

// "states/17-0a1b….safetensors" belongs to session 17, also under its temporary name; "marks/17" as well.
std::optional<std::int64_t> session_of_file(const fs::path& path) {
  const std::string name = path.filename().string();
  std::int64_t session = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), session);
  const bool ends_well = end == name.data() + name.size() || *end == '-';
  return error == std::errc{} && ends_well ? std::optional(session) : std::nullopt;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (session_of_file(entry.path())) files.push_back(entry.path());
  return files;
}

// The sound marks of a store, but for sessions that were being made or deleted: of those nothing is
// acknowledged.
std::vector<Mark> marks_in(const fs::path& folder) {
  std::vector<Mark> marks;
  for (const fs::path& file : files_in(folder / "marks"))
    if (const MarkFound found = read_mark(file); found.mark && found.mark->event >= 0)
      marks.push_back(*found.mark);
  return marks;
}

// Whether a state knows events that the journal does not have; its segments are added to `uses`.
bool is_ahead(const fs::path& state, std::int64_t last, std::set<std::string>& uses) {
  try {
    const io::Safetensors file = io::Safetensors::open(state);
    const auto event = file.metadata().find("event"), segments = file.metadata().find("segments");
    if (event == file.metadata().end() || std::stoll(event->second) <= last) return false;
    if (segments != file.metadata().end())
      for (const io::Json& segment : io::Json::parse(segments->second))
        uses.insert(segment.at(0).get<std::string>());
    return true;
  } catch (const std::exception&) {  // not written to its end
    return false;
  }
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return text;
}

// Names of files, and ids of sessions, that a database names; nothing, if it is not one any more.
std::set<std::string> named_in(const fs::path& file) {
  std::set<std::string> named;
  std::error_code error;
  if (fs::file_size(file, error) == 0 || error) return named;
  try {
    Database database(file);
    prepare_database(database);
    for (const char* sql :
         {"SELECT id FROM sessions", "SELECT file FROM states", "SELECT file FROM segments"}) {
      Statement row = database.prepare(sql);
      while (row.step()) named.insert(row.text(0));
    }
  } catch (const Error& problem) {
    if (problem.code() != ErrorCode::corrupt) throw;
    named.clear();
  }
  return named;
}

}  // namespace

std::string left_behind(const fs::path& folder) {
  const std::size_t states = files_in(folder / "states").size(),
                    segments = files_in(folder / "segments").size();
  const std::vector<Mark> marks = marks_in(folder);
  if (states + segments + marks.size() == 0) return "";
  std::string names;
  for (const Mark& mark : marks) names += (names.empty() ? " of sessions " : ", ") + io::shown(mark.name);
  return fmt::format("{} states and {} segments{}", states, segments, names);
}

void refuse_without_database(const fs::path& folder) {
  const std::string left = left_behind(folder);
  if (left.empty()) return;
  const fs::path file = folder / "sessions.db";
  fail(ErrorCode::corrupt,
       "{}: {}, but there are {}: nothing is touched. Put the database back from a copy; or move these files "
       "aside "
       "with `mplus session set-aside`, and begin anew",
       file.string(), fs::exists(file) ? "it is empty" : "it is missing", left);
}

fs::path Store::mark_path(std::int64_t session) const { return folder_ / "marks" / std::to_string(session); }

// A database without a single session, although some were acknowledged: what it held was in a log that is
// gone.
void Store::require_whole() {
  if (database_.integer("SELECT count(*) FROM sessions") > 0) return;
  if (!marks_in(folder_).empty()) refuse_without_database(folder_);
}

void Store::mark(std::int64_t session, bool sync) {
  try {
    Statement row = database_.prepare(
        "SELECT s.name, e.number, e.token_end, e.checksum FROM sessions s JOIN events e ON e.session = s.id "
        "WHERE "
        "s.id = ? ORDER BY e.number DESC LIMIT 1");
    if (!row.bind(session).step()) return;
    write_mark(mark_path(session),
               {.session = session,
                .name = row.text(0),
                .event = row.integer(1),
                .token = row.integer(2),
                .checksum = row.integer(3)},
               sync);
  } catch (const Error& error) {  // what happened is in the database, and an older mark is no error
    warn(error.what());
  }
}

void Store::mark_intent(std::int64_t session, const std::string& name, bool deletion) {
  const std::int64_t event = deletion ? kBeingDeleted : kBeingMade;
  try {
    write_mark(mark_path(session), {.session = session, .name = name, .event = event}, true);
  } catch (const Error& error) {
    warn(error.what());
  }
}

void Store::forget_mark(std::int64_t session) {
  std::error_code ignored;
  fs::remove(mark_path(session), ignored);
}

std::string Store::behind_mark(std::int64_t session, const MarkFound& found) {
  if (!found.mark)
    return fmt::format("{}: {}: whether the last events of the session are all there is not known",
                       mark_path(session).string(), found.damaged ? "damaged" : "missing");
  const Mark& mark = *found.mark;
  if (mark.event < 0) return "";
  Statement row = database_.prepare(
      "SELECT number, token_end, checksum FROM events WHERE session = ? AND number >= ? ORDER BY number "
      "LIMIT 1");
  const bool there = row.bind(session).bind(mark.event).step();
  const auto lost = [&](const std::string& what) {
    return fmt::format(
        "session {}: {}, though it was acknowledged: is the file {}-wal lost or damaged, or the database an "
        "old "
        "copy?",
        io::shown(mark.name), what, database_.file().string());
  };
  if (!there) {
    const std::int64_t last = Journal(database_, session).last_number();
    return lost(fmt::format("the last event in the database is {}; what came up to event {} is lost", last,
                            mark.event));
  }
  if (row.integer(0) != mark.event) return lost(fmt::format("event {} is missing", mark.event));
  if (row.integer(1) < mark.token)
    return lost(
        fmt::format("of event {} the database has {} tokens of {}", mark.event, row.integer(1), mark.token));
  // An event that others followed may have been changed since: undone, forgotten.
  const bool is_last = Journal(database_, session).last_number() == mark.event;
  if (is_last && row.integer(1) == mark.token && row.integer(2) != mark.checksum)
    return lost(fmt::format("event {} is another one than", mark.event));
  return "";
}

std::vector<Mark> Store::lost_sessions() {
  std::vector<Mark> lost = marks_in(folder_);
  std::erase_if(lost, [&](const Mark& mark) {
    Statement row = database_.prepare("SELECT 1 FROM sessions WHERE id = ?");
    return row.bind(mark.session).step();
  });
  return lost;
}

// What keeps the tables from being walked; empty: nothing.
std::string Store::write_anew(const std::function<void()>& rows) {
  try {
    rows();
    std::vector<std::int64_t> sessions;  // their words can be indexed again, so damage in an index is no loss
    Statement row = database_.prepare("SELECT id FROM sessions");
    while (row.step()) sessions.push_back(row.integer(0));
    for (std::int64_t session : sessions) TextIndex::drop(database_, session);
    if (const std::string found = database_.text("PRAGMA integrity_check(1)"); found != "ok") return found;
    database_.execute("VACUUM");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void Store::mend(const std::function<void()>& rows) {
  const std::string damage = database_.damage_text();
  if (damage.empty()) return rows();
  PageChecks& checks = *page_checks(database_.handle());
  checks.may_commit = true;
  const std::string problem = write_anew(rows);
  checks.may_commit = false;
  if (!problem.empty())
    fail(ErrorCode::corrupt,
         "{}: {} ({}): nothing is written to it; `mplus session export NAME FILE --salvage` saves what is "
         "left of a "
         "session",
         database_.file().string(), damage, problem);
  checks.damaged.clear();
  warn(fmt::format("{}: {}: it was written anew; what cannot be read any more is named where it is used",
                   database_.file().string(), damage));
}

std::set<std::string> Store::named_files() {
  std::set<std::string> named;
  for (const char* part : kFileFolders) {
    Statement row = database_.prepare(fmt::format("SELECT file FROM {}", part));
    while (row.step()) named.insert(row.text(0));
  }
  return named;
}

std::vector<fs::path> Store::own_files(std::int64_t session) {
  std::vector<fs::path> files = files_of(session);
  if (const auto left = rebuild_left(session)) {
    const std::vector<fs::path> more = files_of(left->id);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

std::vector<fs::path> Store::files_of(std::int64_t session) {
  std::vector<fs::path> files;
  Statement states = database_.prepare(
      "SELECT file FROM states WHERE session = ?1 AND file NOT IN (SELECT file FROM states WHERE session <> "
      "?1)");
  states.bind(session);
  while (states.step()) files.push_back(state_path(states.text(0)));
  Statement segments = database_.prepare(
      "SELECT DISTINCT g.file FROM states t JOIN state_segments u ON u.state = t.id JOIN segments g ON g.id "
      "= "
      "u.segment WHERE t.session = ?1 AND g.id NOT IN (SELECT v.segment FROM state_segments v JOIN states w "
      "ON "
      "w.id = v.state WHERE w.session <> ?1)");
  segments.bind(session);
  while (segments.step()) files.push_back(segment_path(segments.text(0)));
  return files;
}

void Store::remove_unnamed(const std::vector<fs::path>& files) {
  const std::set<std::string> named = named_files();
  std::error_code ignored;
  for (const fs::path& file : files)
    if (named.count(file.filename().string()) == 0) fs::remove(file, ignored);
}

void Store::remove_loose_files(std::int64_t session) {
  if (!database_.damaged_pages().empty()) return;
  const bool known = database_.prepare("SELECT 1 FROM sessions WHERE id = ?").bind(session).step();
  if (known && !behind_mark(session, read_mark(mark_path(session))).empty()) return;
  const std::int64_t last = Journal(database_, session).last_number();
  const std::set<std::string> named = named_files();
  std::vector<fs::path> loose;
  std::set<std::string> kept;
  for (const char* part : kFileFolders)
    for (const fs::path& file : files_in(folder_ / part)) {
      const std::string name = file.filename().string();
      if (session_of_file(file) != session || named.count(name) > 0) continue;
      loose.push_back(file);
    }
  for (const fs::path& file : loose)  // a state that is ahead of the journal holds what is nowhere else
    if (file.parent_path().filename() == "states" && is_ahead(file, last, kept))
      kept.insert(file.filename().string());
  std::error_code ignored;
  for (const fs::path& file : loose)
    if (kept.count(file.filename().string()) == 0) fs::remove(file, ignored);
}

void Store::remove_files_of(std::int64_t session) {
  const std::set<std::string> named = named_files();
  std::error_code ignored;
  for (const char* part : kFileFolders)
    for (const fs::path& file : files_in(folder_ / part))
      if (session_of_file(file) == session && named.count(file.filename().string()) == 0)
        fs::remove(file, ignored);
}

fs::path Store::set_aside(const fs::path& folder) {
  const fs::path file = folder / "sessions.db";
  const fs::path target = folder / ("aside-" + now_text());
  const std::set<std::string> named = named_in(file);
  std::error_code ignored;
  const auto move = [&](const fs::path& from) {
    const fs::path to = target / fs::relative(from, folder);
    make_private_folders(to.parent_path());
    fs::rename(from, to);
  };
  for (const char* part : {"states", "segments", "marks"})
    for (const fs::path& loose : files_in(folder / part)) {
      const auto session = session_of_file(loose);
      if (named.count(loose.filename().string()) > 0) continue;
      if (session && FileLock::owner(folder / "locks" / fmt::format("{}.lock", *session))) continue;
      move(loose);
    }
  if (named.empty())
    for (const char* suffix : {"", "-wal", "-shm"})
      if (fs::path part = file; fs::exists(part += suffix, ignored)) move(part);
  return fs::exists(target) ? target : fs::path();
}

}  // namespace mplus::store
