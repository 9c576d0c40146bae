// Changes to what has been: undo, and a memory that was made again.
#include "mplus/core/error.h"
#include "mplus/io/text/names.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {
namespace {

bool can_be_undone(EventKind kind) {
  return kind == EventKind::text || kind == EventKind::turn || kind == EventKind::flush;
}

}  // namespace

void StoredSession::undo(std::int64_t n) { alone(undo_steps(n)); }

engine::Steps<> StoredSession::undo_steps(std::int64_t n) {
  if (n <= 0) fail(ErrorCode::invalid_argument, "undo: expected a number of events from 1 on, got {}", n);
  const auto once = [this, n] { return undo_once(n); };
  co_await changing<void>(once);
}

engine::Steps<ForgetReport> StoredSession::forget_steps(std::string source, bool exact) {
  const auto once = [this, &source, exact] { return forget_once(source, exact); };
  ForgetReport report = co_await changing<ForgetReport>(once);
  co_return report;
}

engine::Steps<> StoredSession::undo_once(std::int64_t n) {
  std::vector<std::int64_t> undone;
  const std::vector<StoredEvent> events = journal_.events();
  for (auto event = events.rbegin(); event != events.rend() && static_cast<std::int64_t>(undone.size()) < n;
       ++event)
    if (event->in_force() && can_be_undone(event->kind)) undone.push_back(event->number);
  if (static_cast<std::int64_t>(undone.size()) < n)
    fail(ErrorCode::invalid_argument, "session {}: {} events to undo, but there are only {}",
         io::shown(info_.name), n, undone.size());
  const std::int64_t first = undone.back();
  if (pinned_event() >= first) {
    co_await undo_from_the_start(std::move(undone));
    co_return;
  }
  const auto files = store_->own_files(info_.id);
  {
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
  }
  store_->mark(info_.id, !options_.batch);
  const Replay how;
  co_await load_steps(how);
  index_words();
  store_->remove_unnamed(files);
}

// No state from before what was forgotten is left.
engine::Steps<> StoredSession::undo_from_the_start(std::vector<std::int64_t> undone) {
  if (was_imported())
    fail(ErrorCode::invalid_argument,
         "session {}: it was imported without a journal; what was before that{} cannot be undone",
         io::shown(info_.name), pinned_event() > 0 ? ", or before something was forgotten," : "");
  Replay how;  // by name: g++ 12 destroys an aggregate inside co_await twice
  how.states_before = std::numeric_limits<std::int64_t>::min();
  how.undone = undone;
  co_await load_steps(how);
  commit_remade({.event = {.kind = EventKind::undo}, .undone = std::move(undone)});
}

void StoredSession::commit_remade(Remade remade) {
  position_ = journal_.last_number() + 1;
  position_token_ = 0;
  merge_.reset();  // what was forgotten may be in it
  NewState fresh = write_state_files();
  Database& database = store_->database();
  Transaction transaction(database);
  for (const StoredEvent& renewed : renewed_) journal_.renew(renewed);
  if (!remade.forgotten.empty()) journal_.forget(remade.forgotten);
  const std::int64_t number = journal_.append(std::move(remade.event));
  MPLUS_CHECK(number == position_, "event {} expected, {} appended", position_, number);
  for (const std::int64_t event : remade.undone) journal_.mark_undone(event, number);
  database.prepare("DELETE FROM states WHERE session = ?").bind(info_.id).run();
  const std::optional<RebuildLeft> left = store_->rebuild_left(info_.id);
  store_->delete_rebuild(info_.id);
  insert_state(fresh, info_.id, remade.pinned);
  store_->release_segments();
  const Settings now = settings_of(*engine_, info_.settings.seed, session_->memory().layout().long_term);
  store_->change_session(
      info_.id, "shape_id = ?, weights_id = ?, numerics_id = ?, dtype = ?, model = ?, delta = ?",
      now.shape_id, now.weights_id, now.numerics_id, memory_type_name(now.type), now.model, now.delta);
  TextIndex words(database, info_.id);
  words.follow(session_->record());
  words.stands_at(position());
  transaction.commit();
  store_->mark(info_.id, !options_.batch);
  finish_state(fresh);
  if (left && !rebuild_)
    warn(fmt::format(
        "session {}: a rebuild had been stopped after {} writes; they are of what was there before, "
        "and are gone",
        io::shown(info_.name), left->updates));
  broken_ = false;
}

}  // namespace mplus::store
