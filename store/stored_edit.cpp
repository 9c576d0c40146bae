// Changes to what has been: undo, forget, rebuild.
#include <algorithm>
#include <charconv>
#include <set>

#include "mplus/core/error.h"
#include "mplus/io/json.h"
#include "mplus/io/names.h"
#include "mplus/store/blob.h"
#include "mplus/store/stored_session.h"

namespace mplus::store {
namespace {

bool can_be_undone(EventKind kind) {
  return kind == EventKind::text || kind == EventKind::turn || kind == EventKind::flush;
}

// A shape's id ends with the tokenizer's fingerprint (Engine::shape_id).
std::string_view tokenizer_part(std::string_view shape_id) {
  const std::size_t at = shape_id.rfind("-t");
  return at == std::string_view::npos ? "" : shape_id.substr(at);
}

}  // namespace

void StoredSession::undo(std::int64_t n) {
  if (n <= 0) fail(ErrorCode::invalid_argument, "undo: expected a number of events from 1 on, got {}", n);
  change([&] {
    std::vector<std::int64_t> undone;
    const std::vector<StoredEvent> events = journal_.events();
    for (auto event = events.rbegin(); event != events.rend() && static_cast<std::int64_t>(undone.size()) < n;
         ++event)
      if (event->in_force() && can_be_undone(event->kind)) undone.push_back(event->number);
    if (static_cast<std::int64_t>(undone.size()) < n)
      fail(ErrorCode::invalid_argument, "session {}: {} events to undo, but there are only {}",
           io::shown(info_.name), n, undone.size());
    const std::int64_t first = undone.back();
    for (const StateRow& row : store_->states(info_.id))
      if (row.pinned && row.event >= first)
        fail(ErrorCode::invalid_argument,
             "session {}: it was imported without a journal; what was before that cannot be undone",
             io::shown(info_.name));
    Transaction transaction(store_->database());
    const std::int64_t number = journal_.append({.kind = EventKind::undo});
    for (std::int64_t event : undone) journal_.mark_undone(event, number);
    store_->database()
        .prepare("DELETE FROM states WHERE session = ? AND event >= ?")
        .bind(info_.id)
        .bind(first)
        .run();
    store_->release_segments();
    transaction.commit();
    load();
    index_words();
    store_->remove_loose_files(info_.id);
  });
}

std::vector<std::int64_t> StoredSession::sources_named(const std::string& source) const {
  std::vector<std::int64_t> found;
  std::int64_t id = 0;
  const bool numbered = source.size() > 1 && source.front() == '#' &&
                        std::from_chars(source.data() + 1, source.data() + source.size(), id).ptr ==
                            source.data() + source.size();
  // Undone events count: their text is there, too. A turn goes as a whole.
  Statement row = store_->database().prepare(
      "SELECT e.source, e.answer FROM events e LEFT JOIN sources s ON s.id = e.source LEFT JOIN sources a ON "
      "a.id = e.answer WHERE e.session = ?1 AND e.forgotten = 0 AND "
      "(s.name = ?2 OR a.name = ?2 OR (?3 AND (s.id = ?4 OR a.id = ?4)))");
  row.bind(info_.id).bind(source).bind(std::int64_t{numbered}).bind(id);
  while (row.step())
    for (int column : {0, 1})
      if (!row.is_null(column)) found.push_back(row.integer(column));
  // What an import without a journal brought.
  for (std::size_t i = 0; i < source_ids_.size(); ++i)
    if (source_ids_[i] > 0 && (session_->record().source(static_cast<std::int64_t>(i)).name == source ||
                               (numbered && source_ids_[i] == id)))
      found.push_back(source_ids_[i]);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found.empty()) {  // the last part of a path is enough where it can mean one source only
    std::set<std::string> longer;
    for (std::int64_t id_known : source_ids_)
      if (id_known > 0)
        if (const std::string name = journal_.source(id_known).name; name.ends_with("/" + source))
          longer.insert(name);
    if (longer.size() == 1) return sources_named(*longer.begin());
  }
  if (found.empty())
    fail(ErrorCode::not_found, "session {}: no source {}; `mplus session show` lists them",
         io::shown(info_.name), io::shown(source));
  return found;
}

std::vector<std::string> StoredSession::answers_that_recalled(
    const std::vector<std::int64_t>& sources) const {
  std::vector<std::string> answers;
  const std::set<std::int64_t> wanted(sources.begin(), sources.end());
  for (const StoredEvent& event : journal_.events()) {
    if (event.kind != EventKind::turn || !event.in_force() || wanted.count(event.source.value_or(0)) > 0)
      continue;
    const auto from_source = [&](std::int64_t birth) {
      const auto& spans = session_->record().spans(memory::chunk_of(birth, engine_->layout().K));
      return std::any_of(spans.begin(), spans.end(),
                         [&](const engine::Span& span) { return wanted.count(source_id(span.source)) > 0; });
    };
    const bool recalled =
        std::any_of(event.recalled_births.begin(), event.recalled_births.end(),
                    [&](const auto& layer) { return std::any_of(layer.begin(), layer.end(), from_source); });
    if (recalled) answers.push_back(journal_.source(*event.source).text);
  }
  return answers;
}

void StoredSession::commit_remade(StoredEvent event, const std::vector<std::int64_t>& forgotten) {
  position_ = journal_.last_number() + 1;
  position_token_ = 0;
  NewState fresh = write_state_files();
  const std::vector<StateRow> old = store_->states(info_.id);
  const bool pinned = std::any_of(old.begin(), old.end(), [](const StateRow& row) { return row.pinned; });
  Database& database = store_->database();
  Transaction transaction(database);
  for (const StoredEvent& renewed : renewed_) journal_.renew(renewed);
  if (!forgotten.empty()) journal_.forget(forgotten);
  const std::int64_t number = journal_.append(std::move(event));
  MPLUS_CHECK(number == position_, "event {} expected, {} appended", position_, number);
  database.prepare("DELETE FROM states WHERE session = ?").bind(info_.id).run();
  insert_state(fresh, pinned);
  store_->release_segments();
  const Settings now = settings_of(*engine_, info_.settings.seed);
  database
      .prepare(
          "UPDATE sessions SET shape_id = ?, weights_id = ?, numerics_id = ?, model = ?, delta = ? WHERE id "
          "= ?")
      .bind(now.shape_id)
      .bind(now.weights_id)
      .bind(now.numerics_id)
      .bind(now.model)
      .bind(now.delta)
      .bind(info_.id)
      .run();
  TextIndex words(database, info_.id);
  words.follow(session_->record());
  words.stands_at(position());
  transaction.commit();
  finish_state(fresh);
  broken_ = false;
}

ForgetReport StoredSession::forget(const std::string& source, bool exact) {
  return change([&] {
    ForgetReport report;
    const std::vector<std::int64_t> ids = sources_named(source);
    const std::set<std::int64_t> wanted(ids.begin(), ids.end());
    for (std::int64_t id : ids) report.sources.push_back(journal_.source(id).name);
    std::sort(report.sources.begin(), report.sources.end());
    report.sources.erase(std::unique(report.sources.begin(), report.sources.end()), report.sources.end());
    report.answers = answers_that_recalled(ids);
    report.holders = store_->holders(ids, info_.id);
    if (exact) {
      std::int64_t first = std::numeric_limits<std::int64_t>::max();
      for (const StoredEvent& event : journal_.events()) {
        if (event.kind == EventKind::import)
          fail(ErrorCode::invalid_argument,
               "session {}: it was imported without a journal, so it cannot be made again without a source; "
               "forget "
               "without --exact",
               io::shown(info_.name));
        if (wanted.count(event.source.value_or(0)) > 0 || wanted.count(event.answer.value_or(0)) > 0)
          first = std::min(first, event.number);
      }
      load({.states_before = first, .recalled_before = first, .without = ids});
      report.replayed_events = position_ - state_position_;
    } else {
      std::vector<std::int64_t> record_sources;
      for (std::size_t i = 0; i < source_ids_.size(); ++i)
        if (wanted.count(source_ids_[i]) > 0) {
          record_sources.push_back(static_cast<std::int64_t>(i));
          source_ids_[i] = -1;
        }
      report.removed = session_->forget(record_sources);
    }
    commit_remade({.kind = EventKind::forget, .details = io::Json{{"exact", exact}}.dump()}, ids);
    report.log_wiped = store_->wipe_log();
    return report;
  });
}

void rebuild_session(Store& store, engine::Engine& engine, const std::string& name, StoredOptions options) {
  const SessionInfo info = store.get(name);
  StoredSession session(store, engine, info, std::move(options), StoredSession::NotLoaded{});
  session.lock_.emplace(store.lock_path(info.id), fmt::format("session {}", io::shown(name)));
  if (info.settings.dtype != engine.layout().dtype)
    fail(ErrorCode::model_mismatch, "session {}: its memory is kept as {}, this engine keeps {}",
         io::shown(name), dtype_name(info.settings.dtype), dtype_name(engine.layout().dtype));
  for (const StoredEvent& event : session.journal().events())
    if (event.kind == EventKind::import)
      fail(ErrorCode::invalid_argument,
           "session {}: it was imported without a journal, so its texts cannot be written again",
           io::shown(name));
  session.load({.states_before = std::numeric_limits<std::int64_t>::min(),
                .recalled_before = std::numeric_limits<std::int64_t>::min(),
                .without = {},
                .cut_anew = info.settings.shape_id != engine.shape_id(),
                .other_ids = tokenizer_part(info.settings.shape_id) != tokenizer_part(engine.shape_id())});
  session.broken_ = true;  // until all of it is committed
  session.commit_remade(
      {.kind = EventKind::rebuild, .details = io::Json{{"from_weights", info.settings.weights_id}}.dump()},
      {});
  store.wipe_log();
}

}  // namespace mplus::store
