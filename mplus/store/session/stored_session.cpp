#include "mplus/store/session/stored_session.h"

#include <algorithm>
#include <map>

#include "mplus/core/error.h"
#include "mplus/engine/generation.h"
#include "mplus/engine/ingestion.h"
#include "mplus/io/text/names.h"
#include "mplus/store/database/blob.h"

namespace mplus::store {
namespace {

std::string hash_of(const engine::Document& document) {
  return document.ids.empty() ? sha256_of(document.text) : sha256_of(document.ids);
}

SessionInfo found_or_made(Store& store, engine::Engine& engine, const std::string& name, Access access,
                          std::uint64_t seed) {
  if (access == Access::read) return store.get(name);
  if (!store.find(name)) {
    if (!engine.has_memory())
      fail(ErrorCode::invalid_argument,
           "session {}: this model is a plain decoder without a memory; name a delta for it",
           io::shown(name));
    try {
      store.create(name, settings_of(engine, seed, engine.layout().long_term));
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
    : StoredSession(store, engine, name, access, std::move(options), InSteps{}) {
  alone(open_steps());
}

StoredSession::StoredSession(Store& store, engine::Engine& engine, const std::string& name, Access access,
                             StoredOptions options, InSteps)
    : StoredSession(store, engine, found_or_made(store, engine, name, access, options.seed),
                    std::move(options), NotLoaded{}) {
  check_model();
  if (access == Access::write) {
    lock_.emplace(store.lock_path(info_.id), fmt::format("session {}", io::shown(name)));
    store.remove_unfinished();
    store.remove_loose_files(info_.id);
  }
}

engine::Steps<> StoredSession::open_steps() {
  Replay how;
  how.from_pinned = options_.without_states;
  co_await load_steps(how);
  replayed_events_ = position_ - state_position_;
  if (!lock_) co_return;
  mend();
  words_ = std::make_unique<TextIndex>(store_->database(), info_.id);
  index_words();
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
  merge_.reset();
  if (lock_ && options_.batch) store_->wipe_log();  // brings the last commits to the disk
}

void StoredSession::warn(const std::string& message) const {
  if (options_.warn && said_.insert(message).second) options_.warn(message);
}

void StoredSession::mend() {
  store_->mend([&] {
    if (damaged_events_.empty() && lost_sources_.empty()) return;
    Transaction transaction(store_->database());
    for (std::int64_t event : damaged_events_) journal_.give_up_event(event);
    for (std::int64_t source : lost_sources_) journal_.give_up_source(journal_.source(source));
    transaction.commit();
  });
  if (!damaged_events_.empty()) store_->mark(info_.id, !options_.batch);
  damaged_events_.clear();
  lost_sources_.clear();
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
  if (info_.settings.type.dtype != engine_->layout().dtype)
    fail(ErrorCode::model_mismatch, "session {}: its memory is kept as {}, this engine keeps {}",
         io::shown(info_.name), dtype_name(info_.settings.type.dtype), dtype_name(engine_->layout().dtype));
}

void StoredSession::require_writer() const {
  if (!lock_) fail(ErrorCode::invalid_argument, "session {}: opened for reading only", io::shown(info_.name));
  if (broken_)
    fail(ErrorCode::io, "session {}: an earlier failure left it unusable in this process; open it again",
         io::shown(info_.name));
}

void StoredSession::recover(const std::exception_ptr& failure) {
  bool damaged = false;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    damaged = error.code() == ErrorCode::corrupt && !store_->database().damaged_pages().empty();
  } catch (...) {  // thrown on below
  }
  read_again();
  if (!damaged || broken_ || !store_->database().damaged_pages().empty()) std::rethrow_exception(failure);
}

void StoredSession::read_again() {
  try {
    load();
    mend();
    if (!words_) return;
    words_ = std::make_unique<TextIndex>(store_->database(), info_.id);
    index_words();
  } catch (const std::exception& error) {
    warn(fmt::format("session {}: {}", io::shown(info_.name), error.what()));
  }
}

engine::EventSink StoredSession::journal_sink() {
  return [this](const engine::Event& event) { take(event); };
}

// New sources of the record: the last ones are these, others are a template's own words.
void StoredSession::note_sources(std::initializer_list<std::int64_t> ids) {
  const auto now = static_cast<std::size_t>(session_->record().sources());
  if (now == source_ids_.size()) return;  // a document went on in its source
  MPLUS_CHECK(now >= source_ids_.size() + ids.size(), "{} sources, {} known", now, source_ids_.size());
  source_ids_.resize(now - ids.size(), 0);
  source_ids_.insert(source_ids_.end(), ids);
}

void StoredSession::take(const engine::Event& event) {
  Transaction transaction(store_->database(), durability());
  if (info_.settings.numerics_id != session_->numerics_id() && info_.settings.numerics_id != kMixedNumerics) {
    info_.settings.numerics_id = kMixedNumerics;
    store_->change_session(info_.id, "numerics_id = ?", std::string(kMixedNumerics));
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
  words_->stands_at(position());
  transaction.commit();
  store_->mark(info_.id, !options_.batch);
  const std::int64_t updates = session_->memory().updates() - state_updates_;
  state_is_due_ = updates >= options_.state_every;
  if (updates > 0 && !state_is_due_) begin_merging();  // there will be a state
}

void StoredSession::save_due_state() {
  if (!std::exchange(state_is_due_, false)) return;
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
                                                                  .ids = {text.ids.begin(), text.ids.end()}},
                                                                 document_hash_);
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
  position_ = journal_.append({.kind = EventKind::turn,
                               .source = message,
                               .answer = answer,
                               .answer_ids = {turn.answer_ids.begin(), turn.answer_ids.end()},
                               .recalled_births = {turn.recalled_births.begin(), turn.recalled_births.end()},
                               .details = details_of(turn)});
  position_token_ = 0;
  ++turns_since_state_;
  note_sources({message, answer});
}

DocumentState StoredSession::document(const engine::Document& document) const {
  return document_of(document.source, hash_of(document));
}

DocumentState StoredSession::document_of(std::string_view name, const std::string& hash) const {
  Statement row = store_->database().prepare(
      "SELECT e.source, e.token_end, e.complete FROM events e JOIN sources s ON s.id = e.source WHERE "
      "e.session = ? AND e.kind = ? AND e.undone_by IS NULL AND e.forgotten = 0 AND s.name = ? AND s.sha256 "
      "= ? "
      "AND s.text IS NOT NULL AND s.speaker = ? ORDER BY e.complete DESC, e.number DESC LIMIT 1");
  row.bind(info_.id).bind(static_cast<std::int64_t>(EventKind::text)).bind(name).bind(hash);
  if (!row.bind(static_cast<std::int64_t>(engine::Speaker::document)).step()) return {};
  return {.source = row.integer(0), .complete = row.integer(2) != 0, .token_end = row.integer(1)};
}

engine::RememberResult StoredSession::remember(const engine::Document& document,
                                               const engine::Progress& progress) {
  return change([&] {
    const DocumentBegun begun = begin_document(document);
    const engine::RememberResult result = take_in(begun.rest, progress);
    end_document(begun, result);
    return result;
  });
}

engine::RememberResult StoredSession::take_in(const engine::Document& rest,
                                              const engine::Progress& progress) {
  engine::Ingestion ingestion = engine::Ingestion::of_views(*session_, rest, progress, {}, journal_sink());
  run(ingestion);
  return ingestion.result();
}

StoredSession::DocumentBegun StoredSession::begin_document(const engine::Document& document) {
  constexpr std::int64_t kTokenBytes = 4;
  const std::int64_t tokens = std::ssize(document.ids) + std::ssize(document.text) / kTokenBytes;
  if (tokens >= engine_->layout().K) begin_merging();  // it will be written, and a state follow
  DocumentBegun begun{document, position_, position_token_};
  document_hash_ = hash_of(document);
  const DocumentState known = document_of(document.source, document_hash_);
  if (known.source && !known.complete) {
    begun.rest.first_token = known.token_end;
    continued_ = known.source;
  }
  return begun;
}

void StoredSession::end_document(const DocumentBegun& begun, const engine::RememberResult& result) {
  open_document_.reset();
  continued_.reset();
  document_hash_.clear();
  // Stopped before anything was written: the session has begun a source that the journal does not know.
  if (!result.complete && begun.position == position_ && begun.token == position_token_) load();
}

engine::Answer StoredSession::say(std::string_view message, const engine::GenerateOptions& options) {
  return change([&] {
    engine::Generation turn = engine::Generation::say(*session_, message, options, journal_sink());
    run(turn);
    return turn.answer();
  });
}

void StoredSession::set_system_message(std::string_view text) {
  change([&] {
    session_->set_system_message(text, journal_sink());
    save_due_state();
  });
}

std::int64_t StoredSession::flush() { return alone(flush_steps()); }

engine::Steps<std::int64_t> StoredSession::flush_steps() {
  const auto once = [this] { return flush_once(); };
  const std::int64_t updates = co_await changing<std::int64_t>(once);
  co_return updates;
}

engine::Steps<std::int64_t> StoredSession::flush_once() {
  engine::Ingestion flushing = engine::Ingestion::flush(*session_, {}, journal_sink());
  co_await engine::work_of(flushing);
  save_due_state();
  co_return flushing.result().updates;
}

void StoredSession::index_words() {
  words_->follow(session_->record());
  if (!words_->is_at(position())) words_->stands_at(position());
}

// A reader does not change what a writer may be adding to, so it has an index of its own where the store's is
// of no use.
void StoredSession::serve_own_words(engine::GenerateOptions& options) {
  if (!own_words_) own_words_ = std::make_unique<TextIndex>();
  own_words_->serve(options, session_->record());
}

void StoredSession::serve_words(engine::GenerateOptions& options) {
  if (!words_ && TextIndex::exists(store_->database(), info_.id))
    words_ = std::make_unique<TextIndex>(store_->database(), info_.id);
  if (!words_ || !words_->is_at(position())) return serve_own_words(options);
  words_->serve(options);
  // Damage in the index shows when it is asked.
  options.words = [this, ask = options.words](std::string_view question) -> memory::Prior {
    return [this, prior = ask(question), text = std::string(question),
            own = memory::Prior()](std::int64_t chunk) mutable {
      if (own) return own(chunk);
      try {
        const double score = prior(chunk);
        if (store_->database().damaged_pages().empty()) return score;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt) throw;
      }
      warn(fmt::format("session {}: {}: words are looked up in the texts", io::shown(info_.name),
                       store_->database().damage_text()));
      engine::GenerateOptions of_texts;
      serve_own_words(of_texts);
      own = of_texts.words(text);
      return own(chunk);
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
    Transaction transaction(store_->database(), durability());
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
