#include "mplus/store/journal.h"

#include <algorithm>
#include <chrono>

#include "mplus/core/error.h"
#include "mplus/io/hash.h"
#include "mplus/io/json.h"
#include "mplus/store/blob.h"

namespace mplus::store {
namespace {

constexpr const char* kColumns =
    "number, kind, at, undone_by, source, answer, token_begin, token_end, byte_begin, byte_end, complete, "
    "forgotten, ids, recalled, details, checksum";

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

std::int64_t now_after(std::int64_t last) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max(last, std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()});
}

// Over what never changes after an event was added, but for the end of a document that goes on.
std::uint64_t Journal::checksum(const StoredEvent& e) const {
  std::string bytes =
      fmt::format("{} {} {} {} {} {} {} {} {} ", e.number, static_cast<int>(e.kind), e.at, e.token_begin,
                  e.token_end, e.byte_begin, e.byte_end, e.complete, e.details);
  const auto add = [&](std::span<const std::byte> blob) {
    bytes.append(reinterpret_cast<const char*>(blob.data()), blob.size());
  };
  if (!e.forgotten) {
    bytes += fmt::format("{} {} ", e.source.value_or(-1), e.answer.value_or(-1));
    add(std::as_bytes(std::span(e.answer_ids)));
    for (const auto& layer : e.recalled_births) add(std::as_bytes(std::span(layer)));
  }
  return io::xxh3(std::as_bytes(std::span(bytes)));
}

std::int64_t Journal::append(StoredEvent event) {
  const auto before = last();
  event.number = before ? before->number + 1 : 0;
  event.at = now_after(before ? before->at : 0);
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
  insert.bind(event.details).bind(static_cast<std::int64_t>(checksum(event))).run();
  return event.number;
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
  auto event = last();
  MPLUS_CHECK(event && event->number == number, "event {} is not the last", number);
  event->token_end = token_end;
  event->byte_end = byte_end;
  event->complete = complete;
  database_
      ->prepare(
          "UPDATE events SET token_end = ?, byte_end = ?, complete = ?, checksum = ? "
          "WHERE session = ? AND number = ?")
      .bind(token_end)
      .bind(byte_end)
      .bind(std::int64_t{complete})
      .bind(static_cast<std::int64_t>(checksum(*event)))
      .bind(session_)
      .bind(number)
      .run();
}

void Journal::mark_undone(std::int64_t number, std::int64_t by) {
  database_->prepare("UPDATE events SET undone_by = ? WHERE session = ? AND number = ?")
      .bind(by)
      .bind(session_)
      .bind(number)
      .run();
}

void Journal::renew(const StoredEvent& event) {
  Statement update = database_->prepare(
      "UPDATE events SET token_begin = ?, token_end = ?, byte_begin = ?, byte_end = ?, complete = ?, "
      "details = ?, ids = ?, recalled = ?, checksum = ? WHERE session = ? AND number = ?");
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
  update.bind(static_cast<std::int64_t>(checksum(event))).bind(session_).bind(event.number).run();
}

std::vector<std::int64_t> Journal::forget(const std::vector<std::int64_t>& sources) {
  const auto listed = [&](const std::optional<std::int64_t>& id) {
    return id && std::find(sources.begin(), sources.end(), *id) != sources.end();
  };
  std::vector<std::int64_t> loose = sources;
  for (StoredEvent& event : events()) {
    if (event.forgotten || (!listed(event.source) && !listed(event.answer))) continue;
    for (const auto& id : {event.source, event.answer})
      if (id) loose.push_back(*id);  // a turn goes as a whole
    event.forgotten = true;
    database_
        ->prepare(
            "UPDATE events SET source = NULL, answer = NULL, ids = NULL, recalled = NULL, "
            "forgotten = 1, checksum = ? WHERE session = ? AND number = ?")
        .bind(static_cast<std::int64_t>(checksum(event)))
        .bind(session_)
        .bind(event.number)
        .run();
  }
  std::sort(loose.begin(), loose.end());
  loose.erase(std::unique(loose.begin(), loose.end()), loose.end());
  std::erase_if(loose, [&](std::int64_t id) {
    database_->prepare("DELETE FROM recalls WHERE session = ? AND source = ?").bind(session_).bind(id).run();
    Statement others = database_->prepare("SELECT 1 FROM events WHERE source = ?1 OR answer = ?1 LIMIT 1");
    if (others.bind(id).step()) return true;
    database_->prepare("DELETE FROM sources WHERE id = ?").bind(id).run();
    return false;
  });
  return loose;
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
  if (!row.is_null(12)) e.answer_ids = unpack_ids(row.blob(12), what);
  if (!row.is_null(13)) e.recalled_births = unpack_births(row.blob(13), what);
  e.details = row.text(14);
  if (static_cast<std::uint64_t>(row.integer(15)) != checksum(e))
    fail(ErrorCode::corrupt, "{}: not what was stored: its checksum does not fit", what);
  return e;
}

std::int64_t Journal::last_number() const {
  Statement row = database_->prepare("SELECT coalesce(max(number), -1) FROM events WHERE session = ?");
  return row.bind(session_).step() ? row.integer(0) : -1;
}

std::vector<StoredEvent> Journal::events(std::int64_t after) const {
  Statement row = database_->prepare(
      fmt::format("SELECT {} FROM events WHERE session = ? AND number > ? ORDER BY number", kColumns));
  row.bind(session_).bind(after);
  std::vector<StoredEvent> events;
  while (row.step()) events.push_back(read(row));
  return events;
}

std::vector<std::int64_t> Journal::numbers() const {
  Statement row = database_->prepare("SELECT number FROM events WHERE session = ? ORDER BY number");
  row.bind(session_);
  std::vector<std::int64_t> numbers;
  while (row.step()) numbers.push_back(row.integer(0));
  return numbers;
}

StoredEvent Journal::event(std::int64_t number) const {
  Statement row =
      database_->prepare(fmt::format("SELECT {} FROM events WHERE session = ? AND number = ?", kColumns));
  if (!row.bind(session_).bind(number).step())
    fail(ErrorCode::not_found, "{}: session {} has no event {}", database_->file().string(), session_,
         number);
  return read(row);
}

std::optional<StoredEvent> Journal::last() const {
  Statement row = database_->prepare(
      fmt::format("SELECT {} FROM events WHERE session = ? ORDER BY number DESC LIMIT 1", kColumns));
  if (!row.bind(session_).step()) return std::nullopt;
  return read(row);
}

std::int64_t Journal::add_source(const StoredSource& source) {
  Statement insert =
      database_->prepare("INSERT INTO sources (name, speaker, size, sha256, text, ids) VALUES (?,?,?,?,?,?)");
  insert.bind(source.name)
      .bind(static_cast<std::int64_t>(source.speaker))
      .bind(static_cast<std::int64_t>(source.text.size()))
      .bind(source.ids.empty() ? sha256_of(source.text) : sha256_of(source.ids))
      .bind(pack_text(source.text));
  if (source.ids.empty()) {
    insert.bind(nullptr);
  } else {
    insert.bind(pack_ids(source.ids));
  }
  insert.run();
  return database_->last_row();
}

StoredSource Journal::source(std::int64_t id) const {
  Statement row =
      database_->prepare("SELECT name, speaker, size, sha256, text, ids FROM sources WHERE id = ?");
  if (!row.bind(id).step())
    fail(ErrorCode::corrupt, "{}: source {}: an event refers to it, but it is not there",
         database_->file().string(), id);
  StoredSource source{.id = id,
                      .name = row.text(0),
                      .speaker = static_cast<engine::Speaker>(row.integer(1)),
                      .size = row.integer(2),
                      .sha256 = row.text(3),
                      .text = {},
                      .ids = {}};
  const std::string what = fmt::format("{}: source {} ({})", database_->file().string(), id, source.name);
  source.text = unpack_text(row.blob(4), what);
  if (!row.is_null(5)) source.ids = unpack_ids(row.blob(5), what);
  const std::string found = source.ids.empty() ? sha256_of(source.text) : sha256_of(source.ids);
  if (found != source.sha256)
    fail(ErrorCode::corrupt, "{}: SHA-256 {} expected, {} found: the text is damaged", what, source.sha256,
         found);
  return source;
}

}  // namespace mplus::store
