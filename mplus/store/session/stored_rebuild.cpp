// Rebuilding: a session's texts written again, with another model or other rows. It may take hours, so what
// is written is kept from time to time (store_rebuild.cpp), and a rebuild that was stopped goes on there.
#include <set>

#include "mplus/core/error.h"
#include "mplus/engine/cutting.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {
namespace {

constexpr const char* kOfEvents = "of_events";  // in a state's metadata: the events that it was made of

// A shape's id ends with the tokenizer's fingerprint (Engine::shape_id).
std::string_view tokenizer_part(std::string_view shape_id) {
  const std::size_t at = shape_id.rfind("-t");
  return at == std::string_view::npos ? "" : shape_id.substr(at);
}

Settings target_of(engine::Engine& engine, const SessionInfo& info, std::optional<RowFormat> long_term) {
  return settings_of(engine, info.settings.seed, long_term.value_or(info.settings.type.long_term));
}

std::string described(const Settings& s) {
  return fmt::format("{}{}{} ({}, weights {}, numerics {})", s.model, s.delta.empty() ? "" : " and ", s.delta,
                     memory_type_name(s.type), s.weights_id, s.numerics_id);
}

// What a stopped rebuild left; throws where it is another one that is asked for now.
std::optional<RebuildLeft> left_of(Store& store, const SessionInfo& info, const Settings& target) {
  std::optional<RebuildLeft> left = store.rebuild_left(info.id);
  if (!left || !left->sound) return left;
  const Settings& had = left->target;
  if (had.shape_id != target.shape_id || had.weights_id != target.weights_id ||
      had.numerics_id != target.numerics_id || had.type != target.type)
    fail(ErrorCode::invalid_argument,
         "session {}: a rebuild with {} was stopped after {} writes, and this one is with {}. Give that "
         "command "
         "again to go on with it, or remove what it has written: `mplus session rebuild {} --drop`",
         io::shown(info.name), described(had), left->updates, described(target), io::shown(info.name));
  return left;
}

// The state that it goes on from. Throws corrupt where it cannot.
StateRow state_of(Store& store, const Journal& journal, const RebuildLeft& left) {
  const std::vector<StateRow> rows = store.states(left.id);
  if (!left.sound || rows.empty())
    fail(ErrorCode::corrupt, "{}: what a stopped rebuild had written is damaged",
         store.database().file().string());
  const auto path = store.state_path(rows.front().file);
  check_state_row(rows.front(), path);
  const io::StringMap metadata = io::Safetensors::open(path).metadata();
  const auto of = metadata.find(kOfEvents);
  if (of == metadata.end() || of->second != journal.fingerprint(rows.front().event))
    fail(ErrorCode::corrupt,
         "a rebuild was stopped after {} writes, but what it had read was undone, forgotten or gone on with "
         "since",
         left.updates);
  return rows.front();
}

}  // namespace

void StoredSession::take_up_rebuild(Settings target) {
  rebuild_ = Rebuild{.target = std::move(target)};
  if (const auto left = left_of(*store_, info_, rebuild_->target)) rebuild_->id = left->id;
}

StoredSession::Found StoredSession::load_rebuild() {
  const std::optional<RebuildLeft> left = store_->rebuild_left(info_.id);
  if (!left) return Found::nothing;
  try {
    const StateRow row = state_of(*store_, journal_, *left);
    for (const SegmentRow& segment : store_->segments(row.id))
      verify_segment(store_->segment_path(segment.file.file), segment.file);
    load_state(row);
    take_passed();
    return Found::state;
  } catch (const Error& error) {
    warn(fmt::format("session {}: {}; its texts are written again from the first one", io::shown(info_.name),
                     error.what()));
  }
  rebuild_ = Rebuild{.target = rebuild_->target};  // what is there goes when something else is kept
  renewed_.clear();
  return Found::nothing;
}

// The events that are in it to their ends.
void StoredSession::take_passed() {
  const std::vector<StoredEvent> events = journal_.events();
  for (StoredEvent& event : Journal(store_->database(), rebuild_->id).events()) {
    if (!event.damage.empty()) fail(ErrorCode::corrupt, "{}", event.damage);
    rebuild_->taken = event.number;
    if (event.forgotten) continue;  // nothing of it has changed
    event.source = events.at(static_cast<std::size_t>(event.number)).source;
    event.answer = events.at(static_cast<std::size_t>(event.number)).answer;
    renewed_.push_back(std::move(event));
  }
}

void StoredSession::pass(const StoredEvent& event) {
  const bool renewed = !renewed_.empty() && renewed_.back().number == event.number;
  rebuild_->passed.push_back(
      renewed ? renewed_.back()
              : StoredEvent{.number = event.number, .kind = event.kind, .at = event.at, .forgotten = true});
  rebuild_->taken = event.number;
  keep_when_due();
}

void StoredSession::keep_when_due() {
  const std::int64_t writes = session_->memory().updates();
  const std::int64_t since = writes - state_updates_ + turns_since_state_;
  const bool stop = options_.rebuild_progress && !options_.rebuild_progress(writes);
  try {
    if (since >= (stop ? 1 : options_.state_every)) keep_rebuild();
  } catch (const Error& error) {  // the next one may succeed
    warn(fmt::format("session {}: what is written by now could not be kept: {}", io::shown(info_.name),
                     error.what()));
  }
  if (stop)
    fail(ErrorCode::cancelled,
         "session {}: stopped after {} writes, of which {} are kept; it stays as it was. The same command "
         "goes on "
         "there, and `mplus session rebuild {} --drop` removes them",
         io::shown(info_.name), writes, state_updates_, io::shown(info_.name));
}

void StoredSession::keep_rebuild() {
  NewState fresh = write_state_files({{kOfEvents, journal_.fingerprint(position_)}});
  Database& database = store_->database();
  Transaction transaction(database);
  std::int64_t id = rebuild_->id;
  if (id == 0) {
    store_->delete_rebuild(info_.id);
    id = store_->insert_rebuild(info_.id, rebuild_->target);
  }
  Journal kept(database, id);
  for (const StoredEvent& event : rebuild_->passed) kept.put(event);
  database.prepare("DELETE FROM states WHERE session = ?").bind(id).run();
  insert_state(fresh, id, false);
  store_->release_segments();
  transaction.commit();
  rebuild_->id = id;
  rebuild_->passed.clear();
  finish_state(fresh);
}

RebuildCost rebuild_cost(Store& store, engine::Engine& engine, const std::string& name,
                         std::optional<RowFormat> long_term) {
  const SessionInfo info = store.get(name);
  const Journal journal(store.database(), info.id);
  RebuildCost cost;
  std::set<std::int64_t> counted;  // a document that was stopped and gone on with has several events
  const auto count = [&](const std::optional<std::int64_t>& id) {
    if (!id || !counted.insert(*id).second) return;
    const StoredSource source = journal.source(*id);
    cost.tokens +=
        source.ids.empty() ? std::ssize(engine.tokenizer().encode(source.text)) : std::ssize(source.ids);
  };
  for (const StoredEvent& event : journal.events()) {
    if (!event.in_force()) continue;
    count(event.source);
    count(event.answer);
  }
  cost.writes = std::ssize(engine::cut_text(cost.tokens, engine.chunk_tokens(), engine.layout().K));
  try {
    if (const auto left = left_of(store, info, target_of(engine, info, long_term)))
      cost.written = state_of(store, journal, *left).updates;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw;  // otherwise it begins anew, and says why
  }
  return cost;
}

void rebuild_session(Store& store, engine::Engine& engine, const std::string& name, StoredOptions options,
                     std::optional<RowFormat> long_term) {
  const SessionInfo info = store.get(name);
  StoredSession session(store, engine, info, std::move(options), StoredSession::NotLoaded{});
  session.lock_.emplace(store.lock_path(info.id), fmt::format("session {}", io::shown(name)));
  if (info.settings.type.dtype != engine.layout().dtype)
    fail(ErrorCode::model_mismatch, "session {}: its memory is kept as {}, this engine keeps {}",
         io::shown(name), dtype_name(info.settings.type.dtype), dtype_name(engine.layout().dtype));
  if (long_term) session.info_.settings.type.long_term = *long_term;
  if (session.was_imported())
    fail(ErrorCode::invalid_argument,
         "session {}: it was imported without a journal, so its texts cannot be written again",
         io::shown(name));
  session.take_up_rebuild(target_of(engine, info, long_term));
  session.load({.states_before = std::numeric_limits<std::int64_t>::min(),
                .recalled_before = std::numeric_limits<std::int64_t>::min(),
                .without = {},
                .cut_anew = info.settings.shape_id != engine.shape_id(),
                .other_ids = tokenizer_part(info.settings.shape_id) != tokenizer_part(engine.shape_id())});
  session.broken_ = true;  // until all of it is committed
  session.commit_remade({.event = {.kind = EventKind::rebuild,
                                   .details = io::Json{{"from_weights", info.settings.weights_id}}.dump()}});
  store.wipe_log();
}

}  // namespace mplus::store
