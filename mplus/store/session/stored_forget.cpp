// Forgetting: which sources, what that takes, and how it is done.
#include <algorithm>
#include <charconv>
#include <set>

#include "mplus/core/error.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {
namespace {

void sort_once(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

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

bool StoredSession::was_imported() const {
  const std::vector<StoredEvent> events = journal_.events();
  return std::any_of(events.begin(), events.end(),
                     [](const StoredEvent& event) { return event.kind == EventKind::import; });
}

std::int64_t StoredSession::first_event_of(const std::vector<std::int64_t>& ids) const {
  if (was_imported())
    fail(ErrorCode::invalid_argument,
         "session {}: it was imported without a journal, so it cannot be made again without a source; forget "
         "without --exact",
         io::shown(info_.name));
  const std::set<std::int64_t> wanted(ids.begin(), ids.end());
  for (const StoredEvent& event : journal_.events())
    if (wanted.count(event.source.value_or(0)) > 0 || wanted.count(event.answer.value_or(0)) > 0)
      return event.number;
  return journal_.last_number() + 1;
}

std::vector<std::int64_t> StoredSession::record_sources(const std::vector<std::int64_t>& ids) const {
  std::vector<std::int64_t> sources;
  for (std::size_t i = 0; i < source_ids_.size(); ++i)
    if (std::find(ids.begin(), ids.end(), source_ids_[i]) != ids.end())
      sources.push_back(static_cast<std::int64_t>(i));
  return sources;
}

engine::IdsOfSource StoredSession::ids_of_sources() const {
  return [this](std::int64_t record_source) -> std::vector<io::TokenId> {
    const std::int64_t id = source_id(record_source);
    if (id <= 0) return {};
    if (session_->record().source(record_source).speaker != engine::Speaker::assistant)
      return journal_.source(id).ids;
    for (StoredEvent& event : journal_.events())
      if (event.answer == id) return std::move(event.answer_ids);
    return {};  // imported without a journal
  };
}

std::int64_t StoredSession::pinned_event() const {
  const auto state = pinned_state();
  return state ? state->event : -1;
}

std::vector<std::int64_t> StoredSession::rewritten_updates() const {
  const std::int64_t event = pinned_event();
  if (event < 0) return {};
  const std::vector<StoredEvent> events = journal_.events(event - 1);
  if (events.empty() || events.front().kind != EventKind::forget || !events.front().damage.empty()) return {};
  return forget_details(events.front(), fmt::format("session {}: event {}: ", io::shown(info_.name), event))
      .rewritten.value_or(std::vector<std::int64_t>());
}

std::vector<std::int64_t> StoredSession::wrongly_rewritten() const {
  std::vector<std::int64_t> updates = rewritten_updates();
  std::erase_if(updates, [&](std::int64_t u) { return session_->is_as_written_again(u, ids_of_sources()); });
  return updates;
}

ForgetReport StoredSession::report_of(const std::vector<std::int64_t>& ids) const {
  ForgetReport report;
  for (std::int64_t id : ids) report.sources.push_back(journal_.source(id).name);
  sort_once(report.sources);
  report.answers = answers_that_recalled(ids);
  report.holders = store_->holders(ids, info_.id);
  return report;
}

void StoredSession::name_written_again(ForgetReport& report) const {
  for (const auto& [update, spans] : report.removed.written_again)
    for (const engine::Span& span : spans)
      report.written_again.push_back(session_->record().source(span.source).name);
  sort_once(report.written_again);
}

ForgetReport StoredSession::forget_plan(const std::string& source, bool exact) const {
  const std::vector<std::int64_t> ids = sources_named(source);
  ForgetReport report = report_of(ids);
  if (!exact) {
    report.removed = session_->forget_plan(record_sources(ids));
    name_written_again(report);
    return report;
  }
  const std::int64_t first = first_event_of(ids);
  std::int64_t from = -1;
  for (const StateRow& row : store_->states(info_.id))
    if (row.event < first) from = std::max(from, row.event);
  report.replayed_events = journal_.last_number() - from;
  return report;
}

ForgetReport StoredSession::forget(const std::string& source, bool exact) {
  return alone(forget_steps(source, exact));
}

// The rows leave the memory as it is.
engine::Steps<ForgetReport> StoredSession::forget_here(ForgetReport report,
                                                       const std::vector<std::int64_t>& ids,
                                                       std::set<std::int64_t>& rewritten, bool& pinned) {
  const std::vector<std::int64_t> sources = record_sources(ids);
  const engine::IdsOfSource ids_of = ids_of_sources();
  report.removed = co_await session_->forget_steps(sources, ids_of);
  pinned = pinned || report.removed.updates > 0 || report.removed.window_tokens > 0;
  for (const std::int64_t index : sources) source_ids_[static_cast<std::size_t>(index)] = -1;
  name_written_again(report);
  for (const auto& [update, spans] : report.removed.written_again) rewritten.insert(update);
  std::erase_if(rewritten, [&](std::int64_t u) { return session_->record().spans(u).empty(); });
  co_return report;
}

engine::Steps<ForgetReport> StoredSession::forget_once(const std::string& source, bool exact) {
  const std::vector<std::int64_t> ids = sources_named(source);
  ForgetReport report = report_of(ids);
  const std::vector<std::int64_t> before = rewritten_updates();
  std::set<std::int64_t> rewritten(before.begin(), before.end());
  bool pinned = pinned_event() >= 0;
  if (exact) {
    const std::int64_t first = first_event_of(ids);
    pinned = pinned && pinned_event() < first;
    if (!pinned) rewritten.clear();
    Replay how;  // by name: g++ 12 destroys an aggregate inside co_await twice
    how.states_before = how.recalled_before = first;
    how.without = ids;
    co_await load_steps(how);
    report.replayed_events = position_ - state_position_;
  } else {
    report = co_await forget_here(std::move(report), ids, rewritten, pinned);
  }
  const io::Json details{{"exact", exact}, {"rewritten", rewritten}};
  commit_remade(
      {.event = {.kind = EventKind::forget, .details = details.dump()}, .forgotten = ids, .pinned = pinned});
  report.left = store_->wipe();
  co_return report;
}

}  // namespace mplus::store
