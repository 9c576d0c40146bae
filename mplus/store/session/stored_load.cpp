// Opening a session: the newest sound state, then the events behind it.
#include <algorithm>
#include <map>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/replay.h"
#include "mplus/io/text/names.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {
namespace {

// Everything read inside belongs together, whatever others commit meanwhile.
class Snapshot {
 public:
  explicit Snapshot(Database& database) : database_(database) { database_.execute("BEGIN"); }
  ~Snapshot() {
    try {
      database_.execute("ROLLBACK");
    } catch (const Error&) {  // ended by an error of its own
    }
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Database& database_;
};

// For every source of a state the byte up to which spans and window refer to it.
std::vector<std::int64_t> ends_in_sources(const io::Safetensors& file, std::size_t sources) {
  std::vector<std::int64_t> ends(sources, 0);
  const auto note = [&](std::int64_t source, std::int64_t end) {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;  // of a text
    if (source >= 0 && source < std::ssize(ends) && end <= kMostBytes)
      ends[static_cast<std::size_t>(source)] = std::max(ends[static_cast<std::size_t>(source)], end);
  };
  const auto spans = engine::read_integers(file, "update.spans", 5);
  for (std::size_t i = 0; i + 4 < spans.size(); i += 5) note(spans[i], spans[i + 2]);
  const auto tokens = engine::read_integers(file, "window.tokens", 5);
  for (std::size_t i = 0; i + 4 < tokens.size(); i += 5) note(tokens[i + 1], tokens[i + 4]);
  return ends;
}

}  // namespace

void StoredSession::load(Replay how) { alone(load_steps(std::move(how))); }

engine::Steps<> StoredSession::load_steps(Replay how) {
  broken_ = true;
  merge_.reset();
  open_document_.reset();
  continued_.reset();
  document_hash_.clear();
  state_is_due_ = false;
  renewed_.clear();
  // A writer may replace the newest state between our reading its row and opening its files: then look again.
  constexpr int kAttempts = 10;
  MarkFound mark;
  std::optional<Snapshot> snapshot;
  for (int attempt = 1;; ++attempt) {
    mark = read_mark(store_->mark_path(info_.id));  // before the database, which may only be ahead
    snapshot.emplace(store_->database());
    if (begin_loading(how, attempt < kAttempts && !lock_)) break;
    snapshot.reset();
  }
  const std::vector<StoredEvent> events = journal_.events(position_ - 1);
  if (lock_) {  // nobody else changes what is read from here on
    snapshot.reset();
    co_await replay_events(events, how);
  } else {
    alone(replay_events(events, how));
  }
  say_what_is_damaged(mark);
  broken_ = false;
  if (!lock_) co_return;
  look_for_merges();
}

std::optional<StateRow> StoredSession::pinned_state() const {
  const std::vector<StateRow> rows = store_->states(info_.id);
  const auto found = std::find_if(rows.begin(), rows.end(), [](const StateRow& row) { return row.pinned; });
  return found == rows.end() ? std::nullopt : std::optional(*found);
}

bool StoredSession::begin_loading(Replay& how, bool may_look_again) {
  const Found found = rebuild_ ? load_rebuild() : load_newest_state(how, may_look_again);
  if (found == Found::vanished) return false;
  if (found == Found::nothing) {
    const std::vector<StoredEvent> events = journal_.events();
    if (std::any_of(events.begin(), events.end(),
                    [](const StoredEvent& e) { return e.kind == EventKind::import; }))
      fail(ErrorCode::corrupt,
           "session {}: what it was imported with is lost, and no journal leads to it; import the file again",
           io::shown(info_.name));
    // Updates have other numbers than where chunks were forgotten, and births say something else.
    if (pinned_state()) how.recalled_before = std::numeric_limits<std::int64_t>::min();
    session_ =
        std::make_unique<engine::Session>(*engine_, info_.settings.seed, info_.settings.type.long_term);
    source_ids_.clear();
    saved_.clear();
    position_ = state_position_ = -1;
    position_token_ = 0;
    state_updates_ = session_->memory().updates();
  }
  turns_since_state_ = 0;
  return true;
}

void StoredSession::say_what_is_damaged(const MarkFound& mark) {
  const std::string lost = store_->behind_mark(info_.id, mark);
  behind_ = !lost.empty();
  if (behind_) warn(lost);
  if (const std::string damage = store_->database().damage_text(); !damage.empty())
    warn(fmt::format("{}: {}: what is read is checked row by row", store_->database().file().string(),
                     damage));
}

StoredSession::Found StoredSession::load_newest_state(const Replay& how, bool may_look_again) {
  for (const StateRow& row : store_->states(info_.id)) {
    if (row.event >= how.states_before || (how.from_pinned && !row.pinned)) continue;
    try {
      load_state(row);
      return Found::state;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::not_found && may_look_again) return Found::vanished;
      warn(fmt::format("{}; an older state is used", error.what()));
    }
  }
  return Found::nothing;
}

void StoredSession::load_state(const StateRow& row) {
  const std::filesystem::path path = store_->state_path(row.file);
  check_state_row(row, path);
  const io::Safetensors file = io::Safetensors::open(path);
  const std::vector<SegmentRow> rows = store_->segments(row.id);
  const auto listed = file.metadata().find("segments");
  if (listed == file.metadata().end() || listed->second != segment_list(rows))
    fail(ErrorCode::corrupt, "{}: lists other segments than the database", path.string());
  engine::StateParts parts;
  SavedSegments saved;
  for (const SegmentRow& segment : rows) {
    parts.segments.push_back(
        open_segment(store_->segment_path(segment.file.file), engine_->layout(), segment.file));
    saved.emplace(parts.segments.back().segment, segment);
  }
  std::vector<std::int64_t> ids = engine::read_integers(file, "source_ids");
  const std::vector<std::int64_t> ends = ends_in_sources(file, ids.size());
  std::map<std::int64_t, std::shared_ptr<const engine::Source>> known;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto& source = known[ids[i]];
    if (!source && ids[i] > 0) {
      source = record_source(journal_.source(ids[i]), ends[i]);
    } else if (!source) {  // a template's own words, or forgotten
      source = std::make_shared<const engine::Source>(
          ids[i] == 0 ? engine::Source{"conversation", engine::Speaker::system, ""} : engine::Source{});
    }
    parts.sources.push_back(source);
  }
  auto loaded = std::make_unique<engine::Session>(engine::load_state_file(*engine_, file, std::move(parts)));
  if (loaded->seed() != info_.settings.seed || loaded->memory().updates() != row.updates)
    fail(ErrorCode::corrupt, "{}: seed {} and {} updates expected, {} and {} found", path.string(),
         info_.settings.seed, row.updates, loaded->seed(), loaded->memory().updates());
  if (const memory::Layout& layout = loaded->memory().layout(); layout.type() != info_.settings.type)
    fail(ErrorCode::corrupt, "{}: memory of type {} expected, {} found", path.string(),
         memory_type_name(info_.settings.type), memory_type_name(layout.type()));
  session_ = std::move(loaded);
  source_ids_ = std::move(ids);
  saved_ = std::move(saved);
  position_ = state_position_ = row.event;
  position_token_ = row.token;
  state_updates_ = row.updates;
}

// Where a text is lost, blanks stand for it: places in it stay what they are.
std::shared_ptr<const engine::Source> StoredSession::record_source(const StoredSource& stored,
                                                                   std::int64_t bytes) {
  if (!stored.lost())
    return std::make_shared<const engine::Source>(engine::Source{stored.name, stored.speaker, stored.text});
  warn_of(stored, "what it left in memory is still there");
  const auto size = static_cast<std::size_t>(std::max(bytes, stored.size));
  return std::make_shared<const engine::Source>(
      engine::Source{stored.name.empty() ? fmt::format("#{}", stored.id) : stored.name, stored.speaker,
                     std::string(size, ' ')});
}

void StoredSession::warn_of(const StoredSource& source, std::string_view what_follows) {
  warn(fmt::format("{}; {}", source.damage, what_follows));
  if (!source.given_up) lost_sources_.insert(source.id);
}

engine::Steps<> StoredSession::replay_events(const std::vector<StoredEvent>& events, const Replay& how) {
  std::int64_t done = 0;
  for (const StoredEvent& event : events) {
    if (options_.replay_progress &&
        !options_.replay_progress(done++, static_cast<std::int64_t>(events.size())))
      fail(ErrorCode::cancelled, "session {}: stopped while it was being read", io::shown(info_.name));
    const bool more_of_it = rebuild_ ? event.number > rebuild_->taken
                                     : event.kind == EventKind::text && event.token_end > position_token_;
    if (event.number == position_ && !more_of_it) continue;
    if (event.in_force()) co_await replay_event(event, how);
    if (!event.damage.empty()) {
      warn(event.damage + "; it is left out");
      damaged_events_.insert(event.number);
    }
    position_ = event.number;
    position_token_ = event.token_end;
    if (rebuild_) pass(event);
  }
}

engine::Steps<> StoredSession::replay_event(const StoredEvent& event, const Replay& how) {
  const auto left_out = [&](const std::optional<std::int64_t>& id) {
    return id && std::find(how.without.begin(), how.without.end(), *id) != how.without.end();
  };
  if (left_out(event.source) || left_out(event.answer)) co_return;
  if (std::find(how.undone.begin(), how.undone.end(), event.number) != how.undone.end()) co_return;
  if (event.kind == EventKind::text) co_await replay_text(event, how);
  if (event.kind == EventKind::turn) co_await replay_turn(event, how);
  if (event.kind == EventKind::flush) {
    const engine::Event flushed = engine::Flushed{};
    const engine::EventSink nobody;
    co_await engine::replay_steps(*session_, flushed, true, nobody);
  }
}

// Where an event's text begins and ends in tokens, under sizes or a tokenizer that it was not written with.
void StoredSession::find_places(StoredEvent& event, const StoredSource& source, bool other_ids) const {
  if (other_ids && !source.ids.empty())
    fail(ErrorCode::invalid_argument,
         "session {}: {} was given as token ids, which another tokenizer does not share; forget it first",
         io::shown(info_.name), io::shown(source.name));
  if (other_ids) {
    const auto ends = engine_->tokenizer().encode_with_offsets(source.text).ends;
    const auto tokens_before = [&](std::int64_t byte) {
      return byte == 0 ? 0 : std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin();
    };
    event.token_begin = tokens_before(event.byte_begin);
    event.token_end = tokens_before(event.byte_end);
  }
  // What goes on begins where its first part has ended now.
  const auto before = std::find_if(renewed_.rbegin(), renewed_.rend(), [&](const StoredEvent& e) {
    return e.kind == EventKind::text && e.source == event.source;
  });
  if (event.token_begin == 0 || before == renewed_.rend()) return;
  event.token_begin = before->token_end;
  event.token_end = std::max(event.token_begin, event.token_end);
  event.byte_begin = before->byte_end;
}

engine::Steps<> StoredSession::replay_text(StoredEvent event, const Replay& how) {
  const StoredSource source = journal_.source(event.source.value_or(0));
  if (source.lost()) {
    warn_of(source, "the memory is made without it");
    co_return;
  }
  const bool anew = how.cut_anew && source.speaker == engine::Speaker::document;
  if (anew) find_places(event, source, how.other_ids);
  const std::int64_t stopped_at = event.complete ? std::numeric_limits<std::int64_t>::max() : event.token_end;
  engine::EventSink note;
  if (anew || rebuild_)
    note = [&](const engine::Event& told) {
      const auto& now = std::get<engine::TextTaken>(told);
      if (anew) {
        event.token_end = now.token_end;
        event.byte_end = now.byte_end;
        event.complete = now.complete;
      }
      if (!rebuild_) return;
      rebuild_->inside = !now.complete && now.token_end < stopped_at;
      if (!rebuild_->inside) return;
      note_sources({source.id});
      position_ = event.number;
      position_token_ = now.token_end;
    };
  std::function<void()> behind_step;
  if (rebuild_)
    behind_step = [this] {
      if (std::exchange(rebuild_->inside, false)) keep_when_due();
    };
  engine::TextTaken text{.source = source.name,
                         .speaker = source.speaker,
                         .text = source.text,
                         .ids = source.ids,
                         .token_begin = event.token_begin,
                         .token_end = event.token_end,
                         .complete = event.complete};
  if (event.number == position_)
    text.token_begin = position_token_;  // the rest of what a state has the start of
  // Where chunks became longer, the first part of a document may have reached its end.
  const bool nothing_left = text.token_begin > 0 && text.token_begin == text.token_end;
  const engine::Event taken = text;
  if (!nothing_left) co_await engine::replay_steps(*session_, taken, true, note, behind_step);
  if (anew) renewed_.push_back(event);
  note_sources({source.id});
}

engine::Steps<> StoredSession::replay_turn(StoredEvent event, const Replay& how) {
  const bool as_recalled = event.number < how.recalled_before;
  const StoredSource message = journal_.source(event.source.value_or(0));
  const StoredSource answer = journal_.source(event.answer.value_or(0));
  if (message.lost() || answer.lost()) {
    warn_of(message.lost() ? message : answer, "the turn is left out");
    co_return;
  }
  TurnDetails details =
      turn_details(event, fmt::format("session {}: event {}: ", io::shown(info_.name), event.number));
  if (how.other_ids) {
    const bool to_its_end = details.answer_read == std::ssize(event.answer_ids);
    event.answer_ids = engine_->tokenizer().encode(answer.text);
    details.answer_read = std::max<std::int64_t>(0, std::ssize(event.answer_ids) - (to_its_end ? 0 : 1));
  }
  const engine::Event turn = engine::TurnTaken{.message = message.text,
                                               .answer = answer.text,
                                               .answer_ids = event.answer_ids,
                                               .answer_read = details.answer_read,
                                               .recall = details.recall,
                                               .recalled_births = event.recalled_births,
                                               .reread = details.reread};
  engine::EventSink note;
  if (!as_recalled)
    note = [&](const engine::Event& told) {
      const auto& taken = std::get<engine::TurnTaken>(told);
      event.recalled_births.assign(taken.recalled_births.begin(), taken.recalled_births.end());
      event.details = details_of(taken);
    };
  co_await engine::replay_steps(*session_, turn, as_recalled, note);
  if (!as_recalled) renewed_.push_back(event);
  note_sources({message.id, answer.id});
  ++turns_since_state_;
}

}  // namespace mplus::store
