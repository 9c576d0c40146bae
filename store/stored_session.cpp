#include "mplus/store/stored_session.h"

#include <algorithm>
#include <map>

#include "mplus/core/error.h"
#include "mplus/io/json.h"
#include "mplus/io/names.h"
#include "mplus/store/blob.h"

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

SessionInfo found_or_made(Store& store, engine::Engine& engine, const std::string& name, Access access,
                          std::uint64_t seed) {
  if (access == Access::read) return store.get(name);
  if (!store.find(name)) {
    if (!engine.has_memory())
      fail(ErrorCode::invalid_argument,
           "session {}: this model is a plain decoder without a memory; name a delta for it",
           io::shown(name));
    try {
      store.create(name, settings_of(engine, seed), "", true);
    } catch (const Error& error) {  // another process may have been quicker
      if (error.code() != ErrorCode::invalid_argument || !store.find(name)) throw;
    }
  }
  return store.get(name);
}

}  // namespace

StoredSession::StoredSession(Store& store, engine::Engine& engine, const SessionInfo& info,
                             StoredOptions options, NotLoaded)
    : store_(&store),
      engine_(&engine),
      options_(std::move(options)),
      info_(info),
      journal_(store.database(), info.id) {}

StoredSession::StoredSession(Store& store, engine::Engine& engine, const std::string& name, Access access,
                             StoredOptions options)
    : StoredSession(store, engine, found_or_made(store, engine, name, access, options.seed),
                    std::move(options), NotLoaded{}) {
  check_model();
  if (access == Access::write) {
    lock_.emplace(store.lock_path(info_.id), fmt::format("session {}", io::shown(name)));
    store.database().execute(options_.batch ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
    store.remove_loose_files(info_.id);
  }
  Replay how;
  if (options_.without_states) how.states_before = std::numeric_limits<std::int64_t>::min();
  load(how);
  replayed_events_ = position_ - state_position_;
  if (!lock_) return;
  words_ = std::make_unique<TextIndex>(store.database(), info_.id);
  words_->follow(session_->record());
}

StoredSession::~StoredSession() {
  try {
    close();
  } catch (const std::exception& error) {  // the journal has it all; only the next opening takes longer
    warn(fmt::format("session {}: the state was not saved: {}", io::shown(info_.name), error.what()));
  }
}

void StoredSession::close() {
  const bool worth_it = lock_ && session_ && !broken_ &&
                        (session_->memory().updates() != state_updates_ || turns_since_state_ > 0);
  if (worth_it) save_state();
  if (lock_ && options_.batch) store_->wipe_log();  // brings the last commits to the disk
}

void StoredSession::warn(const std::string& message) const {
  if (options_.warn) options_.warn(message);
}

void StoredSession::check_model() const {
  const auto compare = [&](const char* what, const std::string& expected, const std::string& found,
                           const char* advice) {
    if (expected != found)
      fail(ErrorCode::model_mismatch, "session {}: made with {}{}{}; {} {} expected, this model has {}{}",
           io::shown(info_.name), info_.settings.model, info_.settings.delta.empty() ? "" : " and ",
           info_.settings.delta, what, expected, found, advice);
  };
  compare("shape", info_.settings.shape_id, engine_->shape_id(),
          "; name that model, or write the texts again with `mplus session rebuild`");
  compare("weights", info_.settings.weights_id, engine_->weights_id(),
          "; name that model, or write the texts again with `mplus session rebuild`");
  if (info_.settings.dtype != engine_->layout().dtype)
    fail(ErrorCode::model_mismatch, "session {}: its memory is kept as {}, this engine keeps {}",
         io::shown(info_.name), dtype_name(info_.settings.dtype), dtype_name(engine_->layout().dtype));
}

void StoredSession::require_writer() const {
  if (!lock_) fail(ErrorCode::invalid_argument, "session {}: opened for reading only", io::shown(info_.name));
  if (broken_)
    fail(ErrorCode::io, "session {}: an earlier failure left it unusable in this process; open it again",
         io::shown(info_.name));
}

void StoredSession::read_again() {
  try {
    load();
  } catch (const std::exception& error) {
    broken_ = true;
    warn(fmt::format("session {}: {}", io::shown(info_.name), error.what()));
  }
}

void StoredSession::listen() {
  session_->set_event_sink([this](const engine::Event& event) { take(event); });
}

// ---- Opening ----

void StoredSession::load(const Replay& how) {
  open_document_.reset();
  continued_.reset();
  renewed_.clear();
  // A writer may replace the newest state between our reading its row and opening its files: then look again.
  constexpr int kAttempts = 10;
  for (int attempt = 1; !load_from(how, attempt < kAttempts && !lock_); ++attempt) {
  }
  if (lock_) listen();
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
  io::Json manifest = io::Json::array();
  for (const SegmentRow& segment : rows)
    manifest.push_back({segment.file.file, segment.file.size, segment.file.header});
  const auto listed = file.metadata().find("segments");
  if (listed == file.metadata().end() || listed->second != manifest.dump())
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

void StoredSession::replay_text(StoredEvent event, const Replay& how) {
  const StoredSource source = journal_.source(event.source.value_or(0));
  if (how.by_bytes && source.ids.empty() && source.speaker == engine::Speaker::document) {
    const auto ends = engine_->tokenizer().encode_with_offsets(source.text).ends;
    const auto tokens_before = [&](std::int64_t byte) {
      return std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin();
    };
    event.token_begin = event.byte_begin == 0 ? 0 : tokens_before(event.byte_begin);
    event.token_end = tokens_before(event.byte_end);
    renewed_.push_back(event);
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
  session_->replay(text, true);
  note_sources({source.id});
}

void StoredSession::replay_turn(StoredEvent event, const Replay& how) {
  const bool as_recalled = event.number < how.recalled_before && !how.by_bytes;
  const StoredSource message = journal_.source(event.source.value_or(0));
  const StoredSource answer = journal_.source(event.answer.value_or(0));
  const io::Json details = io::Json::parse(event.details);
  if (how.by_bytes) event.answer_ids = engine_->tokenizer().encode(answer.text);
  const std::string recall = details.value("recall", "");
  const auto reread = details.value("reread", std::vector<std::int64_t>());
  const engine::TurnTaken turn{.message = message.text,
                               .answer = answer.text,
                               .answer_ids = event.answer_ids,
                               .answer_read = how.by_bytes
                                                  ? static_cast<std::int64_t>(event.answer_ids.size())
                                                  : details.value("answer_read", std::int64_t{0}),
                               .recall = recall,
                               .recalled_births = event.recalled_births,
                               .reread = reread};
  if (!as_recalled)
    session_->set_event_sink([&](const engine::Event& told) {
      const auto& births = std::get<engine::TurnTaken>(told).recalled_births;
      event.recalled_births.assign(births.begin(), births.end());
    });
  session_->replay(turn, as_recalled);
  session_->set_event_sink({});
  if (!as_recalled) renewed_.push_back(event);
  note_sources({message.id, answer.id});
  ++turns_since_state_;
}

// New sources of the record: the last ones are these, others are a template's own words.
void StoredSession::note_sources(std::initializer_list<std::int64_t> ids) {
  const auto now = static_cast<std::size_t>(session_->record().sources());
  if (now == source_ids_.size()) return;  // a document went on in its source
  MPLUS_CHECK(now >= source_ids_.size() + ids.size(), "{} sources, {} known", now, source_ids_.size());
  source_ids_.resize(now - ids.size(), 0);
  source_ids_.insert(source_ids_.end(), ids);
}

// ---- Changing ----

void StoredSession::take(const engine::Event& event) {
  Transaction transaction(store_->database());
  if (info_.settings.numerics_id != engine_->numerics_id() && info_.settings.numerics_id != kMixedNumerics) {
    info_.settings.numerics_id = kMixedNumerics;
    store_->database()
        .prepare("UPDATE sessions SET numerics_id = ? WHERE id = ?")
        .bind(kMixedNumerics)
        .bind(info_.id)
        .run();
  }
  if (const auto* text = std::get_if<engine::TextTaken>(&event)) {
    take_text(*text);
  } else if (const auto* turn = std::get_if<engine::TurnTaken>(&event)) {
    take_turn(*turn);
  } else {
    position_ = journal_.append({.kind = EventKind::flush});
    position_token_ = 0;
  }
  words_->follow_newest(session_->record());
  transaction.commit();
  if (session_->memory().updates() - state_updates_ < options_.state_every) return;
  try {
    save_state();
  } catch (const Error& error) {  // the journal has it; the next state may succeed
    warn(fmt::format("session {}: no state was saved: {}", io::shown(info_.name), error.what()));
  }
}

void StoredSession::take_text(const engine::TextTaken& text) {
  const auto last = journal_.last();
  if (!open_document_ && continued_ && last && last->source == continued_ && !last->complete &&
      last->in_force() && last->token_end == text.token_begin)
    open_document_ = last->number;  // nothing came between
  if (open_document_) {
    journal_.advance(*open_document_, text.token_end, text.byte_end, text.complete);
    if (last->source) note_sources({*last->source});
  } else {
    const std::int64_t source = continued_ ? *continued_
                                           : journal_.add_source({.name = std::string(text.source),
                                                                  .speaker = text.speaker,
                                                                  .sha256 = {},
                                                                  .text = std::string(text.text),
                                                                  .ids = {text.ids.begin(), text.ids.end()}});
    const std::int64_t number = journal_.append({.kind = EventKind::text,
                                                 .source = source,
                                                 .token_begin = text.token_begin,
                                                 .token_end = text.token_end,
                                                 .byte_begin = text.byte_begin,
                                                 .byte_end = text.byte_end,
                                                 .complete = text.complete});
    note_sources({source});
    if (text.speaker == engine::Speaker::document) open_document_ = number;
    position_ = number;
  }
  if (open_document_) position_ = *open_document_;
  position_token_ = text.token_end;
  if (text.complete) open_document_.reset();
}

void StoredSession::take_turn(const engine::TurnTaken& turn) {
  const auto add = [&](engine::Speaker speaker, std::string_view text) {
    return journal_.add_source(
        {.name = "conversation", .speaker = speaker, .sha256 = {}, .text = std::string(text), .ids = {}});
  };
  const std::int64_t message = add(engine::Speaker::user, turn.message);
  const std::int64_t answer = add(engine::Speaker::assistant, turn.answer);
  position_ = journal_.append(
      {.kind = EventKind::turn,
       .source = message,
       .answer = answer,
       .answer_ids = {turn.answer_ids.begin(), turn.answer_ids.end()},
       .recalled_births = {turn.recalled_births.begin(), turn.recalled_births.end()},
       .details = io::Json{{"answer_read", turn.answer_read},
                           {"recall", std::string(turn.recall)},
                           {"reread", std::vector<std::int64_t>(turn.reread.begin(), turn.reread.end())}}
                      .dump()});
  position_token_ = 0;
  ++turns_since_state_;
  note_sources({message, answer});
}

DocumentState StoredSession::document(const engine::Document& document) const {
  const std::string hash = document.ids.empty() ? sha256_of(document.text) : sha256_of(document.ids);
  Statement row = store_->database().prepare(
      "SELECT e.source, e.token_end, e.complete FROM events e JOIN sources s ON s.id = e.source WHERE "
      "e.session = ? "
      "AND e.kind = 1 AND e.undone_by IS NULL AND e.forgotten = 0 AND s.name = ? AND s.sha256 = ? AND "
      "s.speaker = 0 "
      "ORDER BY e.complete DESC, e.number DESC LIMIT 1");
  if (!row.bind(info_.id).bind(document.source).bind(hash).step()) return {};
  return {.source = row.integer(0), .complete = row.integer(2) != 0, .token_end = row.integer(1)};
}

engine::RememberResult StoredSession::remember(const engine::Document& document,
                                               const engine::Progress& progress) {
  return change([&] {
    engine::Document rest = document;
    if (const DocumentState known = this->document(document); known.source && !known.complete) {
      rest.first_token = known.token_end;
      continued_ = known.source;
    }
    const std::int64_t position = position_, token = position_token_;
    const engine::RememberResult result = session_->remember(rest, progress);
    open_document_.reset();
    continued_.reset();
    // Stopped before anything was written: the session has begun a source that the journal does not know.
    if (!result.complete && position == position_ && token == position_token_) load();
    return result;
  });
}

engine::Answer StoredSession::say(std::string_view message, const engine::GenerateOptions& options) {
  return change([&] { return session_->say(message, options); });
}

void StoredSession::set_system_message(std::string_view text) {
  change([&] { session_->set_system_message(text); });
}

std::int64_t StoredSession::flush() {
  return change([&] { return session_->flush(); });
}

void StoredSession::serve_words(engine::GenerateOptions& options) {
  if (!words_ && TextIndex::exists(store_->database(), info_.id))
    words_ = std::make_unique<TextIndex>(store_->database(), info_.id);
  // A reader does not change what a writer may be adding to.
  if (!words_ || (!lock_ && !words_->differences(session_->record()).empty()))
    words_ = std::make_unique<TextIndex>();
  if (!lock_) return words_->serve(options, session_->record());
  // Events keep a writer's index in step. What a turn writes before it is in the journal must not get into
  // it.
  options.words = [this](std::string_view question) -> memory::Prior {
    return [scores = words_->query(question)](std::int64_t chunk) {
      const auto at = scores.find(chunk);
      return at == scores.end() ? 0.0 : at->second;
    };
  };
}

void StoredSession::note_recall(const engine::Answer& answer) {
  try {
    std::map<std::int64_t, std::int64_t> rows;
    for (const engine::WhyChunk& chunk : answer.why)
      for (const engine::Span& span : chunk.spans)
        if (const std::int64_t id = source_id(span.source); id > 0 && chunk.rows_recalled > 0)
          rows[id] += chunk.rows_recalled;
    if (rows.empty()) return;
    Transaction transaction(store_->database());
    for (const auto& [source, count] : rows)
      store_->database()
          .prepare(
              "INSERT INTO recalls (session, source, answers, rows) VALUES (?1, ?2, 1, ?3) "
              "ON CONFLICT (session, source) DO UPDATE SET answers = answers + 1, rows = rows + ?3")
          .bind(info_.id)
          .bind(source)
          .bind(count)
          .run();
    transaction.commit();
  } catch (const std::exception&) {  // best effort: an answer is worth more than its count
  }
}

}  // namespace mplus::store
