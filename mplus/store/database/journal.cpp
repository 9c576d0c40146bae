#include "mplus/store/database/journal.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/json.h"
#include "mplus/store/database/blob.h"
#include "mplus/store/database/row_sum.h"

namespace mplus::store {
namespace {

constexpr const char* kColumns =
    "number, kind, at, undone_by, source, answer, token_begin, token_end, byte_begin, byte_end, complete, "
    "forgotten, ids, recalled, details, checksum";

std::string select_events(std::string_view where) {
  return fmt::format("SELECT {}, {} FROM events WHERE session = ? {}", kColumns, kEventSum, where);
}

// A row that is changed must be what was stored.
std::string change_event(std::string_view set) {
  return fmt::format("UPDATE events SET {} WHERE session = ? AND number = ? AND checksum = {}", set,
                     kEventSum);
}

std::optional<std::int64_t> optional_integer(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.integer(column);
}

}  // namespace

std::string_view event_kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::settings:
      return "settings";
    case EventKind::text:
      return "text";
    case EventKind::turn:
      return "turn";
    case EventKind::flush:
      return "flush";
    case EventKind::forget:
      return "forget";
    case EventKind::undo:
      return "undo";
    case EventKind::rebuild:
      return "rebuild";
    case EventKind::import:
      return "import";
  }
  return "?";
}

std::string details_of(const engine::TurnTaken& turn) {
  return io::Json{{"answer_read", turn.answer_read},
                  {"recall", std::string(turn.recall)},
                  {"reread", std::vector<std::int64_t>(turn.reread.begin(), turn.reread.end())}}
      .dump();
}

TurnDetails turn_details(const StoredEvent& event, std::string_view what) {
  const std::string name = fmt::format("{}details", what);
  const io::Json json = io::parse_json(event.details, name);
  const io::JsonFields fields(json, name);
  constexpr std::int64_t kMostChunks = std::numeric_limits<std::int32_t>::max();
  return {.answer_read = fields.integer("answer_read", 0, std::ssize(event.answer_ids)).value_or(0),
          .recall = fields.string("recall").value_or(""),
          .reread = fields.integers("reread", 0, kMostChunks).value_or(std::vector<std::int64_t>())};
}

ForgetDetails forget_details(const StoredEvent& event, std::string_view what) {
  const std::string name = fmt::format("{}details", what);
  const io::Json json = io::parse_json(event.details, name);
  const io::JsonFields fields(json, name);
  return {.exact = fields.boolean("exact").value_or(true),
          .rewritten = fields.integers("rewritten", 0, std::numeric_limits<std::int64_t>::max())};
}

std::int64_t now_after(std::int64_t last) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(last, std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()});
}

void Journal::seal(std::int64_t number) {
  database_
      ->prepare(fmt::format("UPDATE events SET checksum = {} WHERE session = ? AND number = ?", kEventSum))
      .bind(session_)
      .bind(number)
      .run();
}

// A changed row gets a new checksum, so it must have had the right one before.
void Journal::require_changed(std::int64_t number) const {
  if (database_->changes() != 1)
    fail(ErrorCode::corrupt, "{}: event {} of session {}: not what was stored: its checksum does not fit",
         database_->file().string(), number, session_);
}

std::int64_t Journal::append(StoredEvent event) {
  const auto before = last();
  event.number = before ? before->number + 1 : 0;
  event.at = now_after(before && before->damage.empty() ? before->at : 0);
  insert(event);
  return event.number;
}

void Journal::put(StoredEvent event) {
  event.source.reset();
  event.answer.reset();
  insert(event);
}

void Journal::insert(const StoredEvent& event) {
  Statement insert = database_->prepare(
      fmt::format("INSERT INTO events (session, {}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", kColumns));
  insert.bind(session_)
      .bind(event.number)
      .bind(static_cast<std::int64_t>(event.kind))
      .bind(event.at)
      .bind(event.undone_by)
      .bind(event.source)
      .bind(event.answer)
      .bind(event.token_begin)
      .bind(event.token_end)
      .bind(event.byte_begin)
      .bind(event.byte_end)
      .bind(std::int64_t{event.complete})
      .bind(std::int64_t{event.forgotten});
  if (event.kind == EventKind::turn && !event.forgotten) {
    insert.bind(pack_ids(event.answer_ids)).bind(pack_births(event.recalled_births));
  } else {
    insert.bind(nullptr).bind(nullptr);
  }
  insert.bind(event.details).bind(std::int64_t{0}).run();
  seal(event.number);
}

void Journal::copy_events(std::int64_t from_session) {
  database_
      ->prepare(fmt::format("INSERT INTO events (session, {0}) SELECT ?, {0} FROM events WHERE session = ?",
                            kColumns))
      .bind(session_)
      .bind(from_session)
      .run();
}

void Journal::advance(std::int64_t number, std::int64_t token_end, std::int64_t byte_end, bool complete) {
  MPLUS_CHECK(last_number() == number, "event {} is not the last", number);
  database_->prepare(change_event("token_end = ?, byte_end = ?, complete = ?"))
      .bind(token_end)
      .bind(byte_end)
      .bind(std::int64_t{complete})
      .bind(session_)
      .bind(number)
      .run();
  require_changed(number);
  seal(number);
}

void Journal::mark_undone(std::int64_t number, std::int64_t by) {
  database_->prepare(change_event("undone_by = ?")).bind(by).bind(session_).bind(number).run();
  require_changed(number);
  seal(number);
}

void Journal::renew(const StoredEvent& event) {
  Statement update = database_->prepare(
      change_event("token_begin = ?, token_end = ?, byte_begin = ?, byte_end = ?, complete = ?, details = ?, "
                   "ids = ?, recalled = ?"));
  update.bind(event.token_begin)
      .bind(event.token_end)
      .bind(event.byte_begin)
      .bind(event.byte_end)
      .bind(std::int64_t{event.complete})
      .bind(event.details);
  if (event.kind == EventKind::turn) {
    update.bind(pack_ids(event.answer_ids)).bind(pack_births(event.recalled_births));
  } else {
    update.bind(nullptr).bind(nullptr);
  }
  update.bind(session_).bind(event.number).run();
  require_changed(event.number);
  seal(event.number);
}

std::vector<std::int64_t> Journal::forget(const std::vector<std::int64_t>& sources) {
  const auto listed = [&](const std::optional<std::int64_t>& id) {
    return id && std::find(sources.begin(), sources.end(), *id) != sources.end();
  };
  std::vector<std::int64_t> loose = sources;
  for (const StoredEvent& event : events()) {
    if (event.forgotten || !event.damage.empty() || (!listed(event.source) && !listed(event.answer)))
      continue;
    for (const auto& id : {event.source, event.answer})
      if (id) loose.push_back(*id);  // a turn goes as a whole
    let_go(event);
  }
  return delete_loose(std::move(loose));
}

void Journal::let_go(const StoredEvent& event) {
  database_->prepare(change_event("source = NULL, answer = NULL, ids = NULL, recalled = NULL, forgotten = 1"))
      .bind(session_)
      .bind(event.number)
      .run();
  require_changed(event.number);
  seal(event.number);
}

std::vector<std::int64_t> Journal::delete_loose(std::vector<std::int64_t> sources) {
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  std::erase_if(sources, [&](std::int64_t id) {
    Statement own =
        database_->prepare("SELECT 1 FROM events WHERE session = ?1 AND (source = ?2 OR answer = ?2)");
    if (own.bind(session_).bind(id).step()) return true;  // what was undone may have been read again
    database_->prepare("DELETE FROM recalls WHERE session = ? AND source = ?").bind(session_).bind(id).run();
    Statement others = database_->prepare("SELECT 1 FROM events WHERE source = ?1 OR answer = ?1 LIMIT 1");
    if (others.bind(id).step()) return true;
    database_->prepare("DELETE FROM sources WHERE id = ?").bind(id).run();
    return false;
  });
  return sources;
}

Journal::Purged Journal::purge_undone() {
  Purged purged;
  for (const StoredEvent& event : events()) {
    if (!event.undone_by || event.forgotten || !event.damage.empty()) continue;
    if (!event.source && !event.answer) continue;
    for (const auto& id : {event.source, event.answer})
      if (id) purged.sources.push_back(*id);
    let_go(event);
    ++purged.events;
  }
  purged.gone = delete_loose(purged.sources);
  return purged;
}

StoredEvent Journal::read(Statement& row) const {
  StoredEvent e;
  e.number = row.integer(0);
  e.kind = static_cast<EventKind>(row.integer(1));
  e.at = row.integer(2);
  e.undone_by = optional_integer(row, 3);
  e.source = optional_integer(row, 4);
  e.answer = optional_integer(row, 5);
  e.token_begin = row.integer(6);
  e.token_end = row.integer(7);
  e.byte_begin = row.integer(8);
  e.byte_end = row.integer(9);
  e.complete = row.integer(10) != 0;
  e.forgotten = row.integer(11) != 0;
  const std::string what =
      fmt::format("{}: event {} of session {}", database_->file().string(), e.number, session_);
  if (row.integer(15) != row.integer(16)) {
    e.damage = what + ": not what was stored: its checksum does not fit";
    return e;
  }
  if (!row.is_null(12)) e.answer_ids = unpack_ids(row.blob(12), what);
  if (!row.is_null(13)) e.recalled_births = unpack_births(row.blob(13), what);
  e.details = row.text(14);
  return e;
}

std::int64_t Journal::last_number() const {
  Statement row = database_->prepare("SELECT coalesce(max(number), -1) FROM events WHERE session = ?");
  return row.bind(session_).step() ? row.integer(0) : -1;
}

std::vector<StoredEvent> Journal::events(std::int64_t after) const {
  Statement row = database_->prepare(select_events("AND number > ? ORDER BY number"));
  row.bind(session_).bind(after);
  std::vector<StoredEvent> events;
  std::int64_t expected = std::max<std::int64_t>(after + 1, 0);
  constexpr std::int64_t kMostMissing = 1'000'000;  // more is a number that makes no sense
  while (row.step()) {
    StoredEvent event = read(row);
    if (event.number - expected > kMostMissing)
      fail(ErrorCode::corrupt, "{}: session {}: event {} behind event {}", database_->file().string(),
           session_, event.number, expected - 1);
    for (; expected < event.number; ++expected)
      events.push_back({.number = expected,
                        .damage = fmt::format("{}: event {} of session {}: missing",
                                              database_->file().string(), expected, session_)});
    expected = event.number + 1;
    events.push_back(std::move(event));
  }
  return events;
}

std::optional<StoredEvent> Journal::last() const {
  Statement row = database_->prepare(select_events("ORDER BY number DESC LIMIT 1"));
  if (!row.bind(session_).step()) return std::nullopt;
  return read(row);
}

std::int64_t Journal::checksum(std::int64_t number) const {
  Statement row = database_->prepare("SELECT checksum FROM events WHERE session = ? AND number = ?");
  return row.bind(session_).bind(number).step() ? row.integer(0) : 0;
}

std::string Journal::fingerprint(std::int64_t last) const {
  std::vector<std::int64_t> sums;
  Statement row = database_->prepare(
      "SELECT number, checksum FROM events WHERE session = ? AND number <= ? ORDER BY number");
  row.bind(session_).bind(last);
  while (row.step()) sums.insert(sums.end(), {row.integer(0), row.integer(1)});
  return fmt::format("{:016x}", io::xxh3(std::as_bytes(std::span(sums))));
}

void Journal::give_up_event(std::int64_t number) {
  // Whatever it refers to stays: it may be sound.
  database_
      ->prepare(
          "INSERT INTO events (session, number, kind, at, forgotten, details, checksum) VALUES "
          "(?,?,?,0,1,?,0) "
          "ON CONFLICT (session, number) DO UPDATE SET kind = excluded.kind, at = 0, undone_by = NULL, "
          "source = (SELECT id FROM sources WHERE id = source), answer = (SELECT id FROM sources WHERE id = "
          "answer), token_begin = 0, token_end = 0, byte_begin = 0, byte_end = 0, complete = 1, forgotten = "
          "1, "
          "ids = NULL, recalled = NULL, details = excluded.details")
      .bind(session_)
      .bind(number)
      .bind(static_cast<std::int64_t>(EventKind::text))
      .bind(io::Json{{"lost", true}}.dump())
      .run();
  seal(number);
}

void Journal::give_up_source(const StoredSource& source) {
  database_
      ->prepare(
          "INSERT INTO sources (id, name, speaker, size, sha256) VALUES (?,?,?,?,?) ON CONFLICT (id) DO "
          "UPDATE "
          "SET name = excluded.name, speaker = excluded.speaker, size = excluded.size, sha256 = "
          "excluded.sha256, text = NULL, ids = NULL")
      .bind(source.id)
      .bind(source.name)
      .bind(static_cast<std::int64_t>(source.speaker))
      .bind(source.size)
      .bind(source.sha256)
      .run();
  seal_source(source.id);
}

void Journal::seal_source(std::int64_t id) {
  database_->prepare(fmt::format("UPDATE sources SET checksum = {} WHERE id = ?", kSourceSum)).bind(id).run();
}

std::int64_t Journal::add_source(const StoredSource& source, std::string hash) {
  if (hash.empty()) hash = source.ids.empty() ? sha256_of(source.text) : sha256_of(source.ids);
  Statement insert =
      database_->prepare("INSERT INTO sources (name, speaker, size, sha256, text, ids) VALUES (?,?,?,?,?,?)");
  insert.bind(source.name)
      .bind(static_cast<std::int64_t>(source.speaker))
      .bind(static_cast<std::int64_t>(source.text.size()))
      .bind(hash)
      .bind(pack_text(source.text));
  if (source.ids.empty()) {
    insert.bind(nullptr);
  } else {
    insert.bind(pack_ids(source.ids));
  }
  insert.run();
  const std::int64_t id = database_->last_row();
  seal_source(id);
  return id;
}

StoredSource Journal::source(std::int64_t id) const {
  StoredSource source{.id = id, .name = {}, .sha256 = {}, .text = {}, .ids = {}};
  std::string what = fmt::format("{}: source #{}", database_->file().string(), id);
  try {
    Statement row = database_->prepare(fmt::format(
        "SELECT name, speaker, size, sha256, text, ids, checksum, {} FROM sources WHERE id = ?", kSourceSum));
    if (!row.bind(id).step()) fail(ErrorCode::corrupt, "an event refers to it, but it is not there");
    if (row.integer(6) != row.integer(7))
      fail(ErrorCode::corrupt, "its row is damaged: the checksum does not fit");
    source.name = row.text(0);
    source.speaker = static_cast<engine::Speaker>(row.integer(1));
    source.size = row.integer(2);
    source.sha256 = row.text(3);
    what += fmt::format(" ({})", source.name);
    source.given_up = row.is_null(4);
    if (source.given_up) fail(ErrorCode::corrupt, "its text was found damaged and is lost");
    source.text = unpack_text(row.blob(4), "its text");
    if (!row.is_null(5)) source.ids = unpack_ids(row.blob(5), "its list of tokens");
    const std::string found = source.ids.empty() ? sha256_of(source.text) : sha256_of(source.ids);
    if (found != source.sha256 || std::ssize(source.text) != source.size)
      fail(ErrorCode::corrupt, "SHA-256 {} expected, {} found: its text is damaged", source.sha256, found);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::io) throw;
    if (error.code() == ErrorCode::io) source.given_up = true;
    source.text.clear();
    source.ids.clear();
    source.damage = fmt::format("{}: {}", what, error.what());
  }
  return source;
}

}  // namespace mplus::store
