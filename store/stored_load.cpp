// Opening a session: the newest sound state, then the events behind it.
#include <algorithm>
#include <map>

#include "mplus/core/error.h"
#include "mplus/io/json.h"
#include "mplus/io/names.h"
#include "mplus/store/stored_session.h"

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

}  // namespace

void StoredSession::load(const Replay& how) {
  broken_ = true;
  open_document_.reset();
  continued_.reset();
  renewed_.clear();
  // A writer may replace the newest state between our reading its row and opening its files: then look again.
  constexpr int kAttempts = 10;
  for (int attempt = 1; !load_from(how, attempt < kAttempts && !lock_); ++attempt) {
  }
  if (lock_) listen();
  broken_ = false;
}

bool StoredSession::load_from(const Replay& how, bool may_look_again) {
  const Snapshot snapshot(store_->database());
  const Found found = load_newest_state(how, may_look_again);
  if (found == Found::vanished) return false;
  if (found == Found::nothing) {
    const std::vector<StoredEvent> events = journal_.events();
    if (std::any_of(events.begin(), events.end(),
                    [](const StoredEvent& e) { return e.kind == EventKind::import; }))
      fail(ErrorCode::corrupt,
           "session {}: what it was imported with is lost, and no journal leads to it; import the file again",
           io::shown(info_.name));
    session_ = std::make_unique<engine::Session>(*engine_, info_.settings.seed);
    source_ids_.clear();
    saved_.clear();
    position_ = state_position_ = -1;
    position_token_ = 0;
    state_updates_ = session_->memory().updates();
  }
  turns_since_state_ = 0;
  replay_events(how);
  return true;
}

StoredSession::Found StoredSession::load_newest_state(const Replay& how, bool may_look_again) {
  for (const StateRow& row : store_->states(info_.id)) {
    if (row.event >= how.states_before) continue;
    try {
      load_state(row);
      return Found::state;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::model_mismatch) throw;
      if (error.code() == ErrorCode::not_found && may_look_again) return Found::vanished;
      warn(fmt::format("{}; an older state is used", error.what()));
    }
  }
  return Found::nothing;
}

void StoredSession::load_state(const StateRow& row) {
  const std::filesystem::path path = store_->state_path(row.file);
  const io::Safetensors file = io::Safetensors::open(path);
  if (static_cast<std::int64_t>(std::filesystem::file_size(path)) != row.size)
    fail(ErrorCode::corrupt, "{}: {} bytes expected", path.string(), row.size);
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
  std::map<std::int64_t, std::shared_ptr<const engine::Source>> known;
  for (std::int64_t id : ids) {
    auto& source = known[id];
    if (!source && id > 0) {
      StoredSource stored = journal_.source(id);
      source = std::make_shared<const engine::Source>(
          engine::Source{std::move(stored.name), stored.speaker, std::move(stored.text)});
    } else if (!source) {  // a template's own words, or forgotten
      source = std::make_shared<const engine::Source>(
          id == 0 ? engine::Source{"conversation", engine::Speaker::system, ""} : engine::Source{});
    }
    parts.sources.push_back(source);
  }
  session_ = std::make_unique<engine::Session>(engine::Session::load_state(*engine_, file, std::move(parts)));
  source_ids_ = std::move(ids);
  saved_ = std::move(saved);
  position_ = state_position_ = row.event;
  position_token_ = row.token;
  state_updates_ = row.updates;
}

std::vector<StoredEvent> StoredSession::events_to_replay() const {
  if (!options_.salvage) return journal_.events(position_ - 1);
  std::vector<StoredEvent> events;
  try {
    for (std::int64_t number : journal_.numbers()) {
      if (number < position_) continue;
      events.push_back(journal_.event(number));
      for (const auto& id : {events.back().source, events.back().answer})
        if (id) journal_.source(*id);
    }
  } catch (const Error& error) {
    warn(fmt::format("{}; what comes after is left out", error.what()));
    if (!events.empty()) events.pop_back();
  }
  return events;
}

void StoredSession::replay_events(const Replay& how) {
  const std::vector<StoredEvent> events = events_to_replay();
  std::int64_t done = 0;
  for (const StoredEvent& event : events) {
    if (options_.replay_progress &&
        !options_.replay_progress(done++, static_cast<std::int64_t>(events.size())))
      fail(ErrorCode::cancelled, "session {}: stopped while it was being read", io::shown(info_.name));
    const bool more_of_it = event.kind == EventKind::text && event.token_end > position_token_;
    if (event.number == position_ && !more_of_it) continue;
    if (event.in_force()) replay_event(event, how);
    position_ = event.number;
    position_token_ = event.token_end;
  }
}

void StoredSession::replay_event(const StoredEvent& event, const Replay& how) {
  const auto left_out = [&](const std::optional<std::int64_t>& id) {
    return id && std::find(how.without.begin(), how.without.end(), *id) != how.without.end();
  };
  if (left_out(event.source) || left_out(event.answer)) return;
  if (event.kind == EventKind::text) replay_text(event, how);
  if (event.kind == EventKind::turn) replay_turn(event, how);
  if (event.kind == EventKind::flush) session_->replay(engine::Flushed{}, true);
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

void StoredSession::replay_text(StoredEvent event, const Replay& how) {
  const StoredSource source = journal_.source(event.source.value_or(0));
  const bool anew = how.cut_anew && source.speaker == engine::Speaker::document;
  if (anew) {
    find_places(event, source, how.other_ids);
    session_->set_event_sink([&](const engine::Event& told) {
      const auto& taken = std::get<engine::TextTaken>(told);
      event.token_end = taken.token_end;
      event.byte_end = taken.byte_end;
      event.complete = taken.complete;
    });
  }
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
  if (!nothing_left) session_->replay(text, true);
  session_->set_event_sink({});
  if (anew) renewed_.push_back(event);
  note_sources({source.id});
}

void StoredSession::replay_turn(StoredEvent event, const Replay& how) {
  const bool as_recalled = event.number < how.recalled_before;
  const StoredSource message = journal_.source(event.source.value_or(0));
  const StoredSource answer = journal_.source(event.answer.value_or(0));
  const io::Json details = io::Json::parse(event.details);
  const std::string recall = details.value("recall", "");
  const auto reread = details.value("reread", std::vector<std::int64_t>());
  auto answer_read = details.value("answer_read", std::int64_t{0});
  if (how.other_ids) {
    const bool to_its_end = answer_read == std::ssize(event.answer_ids);
    event.answer_ids = engine_->tokenizer().encode(answer.text);
    answer_read = std::max<std::int64_t>(0, std::ssize(event.answer_ids) - (to_its_end ? 0 : 1));
  }
  const engine::TurnTaken turn{.message = message.text,
                               .answer = answer.text,
                               .answer_ids = event.answer_ids,
                               .answer_read = answer_read,
                               .recall = recall,
                               .recalled_births = event.recalled_births,
                               .reread = reread};
  if (!as_recalled)
    session_->set_event_sink([&](const engine::Event& told) {
      const auto& taken = std::get<engine::TurnTaken>(told);
      event.recalled_births.assign(taken.recalled_births.begin(), taken.recalled_births.end());
      event.details = details_of(taken);
    });
  session_->replay(turn, as_recalled);
  session_->set_event_sink({});
  if (!as_recalled) renewed_.push_back(event);
  note_sources({message.id, answer.id});
  ++turns_since_state_;
}

}  // namespace mplus::store
