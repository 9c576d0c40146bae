#include "mplus/engine/ingestion.h"

#include <algorithm>
#include <optional>

#include "mplus/core/error.h"
#include "mplus/engine/cutting.h"

namespace mplus::engine {
namespace {

struct OwnedDocument {
  explicit OwnedDocument(const Document& document)
      : source(document.source),
        text(document.text),
        ids(document.ids.begin(), document.ids.end()),
        first_token(document.first_token) {
    if (document.encoded) encoded = *document.encoded;
  }
  Document view() const { return {source, text, ids, first_token, encoded ? &*encoded : nullptr}; }

  std::string source, text;
  std::vector<io::TokenId> ids;
  std::int64_t first_token;
  std::optional<io::Tokenizer::Offsets> encoded;
};

}  // namespace

struct Ingestion::State {
  State(Session& into, const Document& what, Progress report, Until end, EventSink sink)
      : session(into),
        document(what),
        progress(std::move(report)),
        until(std::move(end)),
        told(std::move(sink)) {}

  Session& session;
  std::optional<OwnedDocument> owned;
  Document document;  // of `owned`, or of somebody who stays
  Progress progress;
  Until until;
  EventSink told;
  RememberResult result{.complete = false};
  bool ended = false;
  std::optional<StepsUnderWay<void>> steps;
};

namespace {

// What a document is cut into, and which of its tokens are in memory by now.
class Cut {
 public:
  Cut(const Document& document, std::vector<WindowToken> own, std::vector<WindowToken> waiting,
      const io::MemoryConfig& sizes)
      : first_(document.first_token), waiting_(std::ssize(waiting)), own_(std::move(own)) {
    tokens_ = std::move(waiting);
    tokens_.insert(tokens_.end(), own_.begin() + first_, own_.end());
    // Text of K tokens or more is written at once, behind what was waiting; shorter text waits until C tokens
    // have come together.
    if (std::ssize(own_) >= sizes.K || first_ > 0) {
      pieces_ = cut_text(total(), sizes.C, sizes.K);
    } else if (total() >= sizes.C) {
      pieces_ = {sizes.C};
    }
  }

  const std::vector<std::int64_t>& pieces() const { return pieces_; }
  std::int64_t total() const { return std::ssize(tokens_); }
  std::int64_t done() const { return done_; }
  std::span<const WindowToken> next(std::int64_t length) const {
    return std::span(tokens_).subspan(static_cast<std::size_t>(done_), static_cast<std::size_t>(length));
  }
  void advance(std::int64_t length) { done_ += length; }
  std::span<const WindowToken> rest() const { return next(total() - done_); }
  // Tokens of the document itself that were taken in, and where the text stands there.
  std::int64_t token_end() const { return first_ + std::max<std::int64_t>(0, done_ - waiting_); }
  std::int64_t byte_at(std::int64_t token) const {
    return token == 0 ? 0 : own_[static_cast<std::size_t>(token - 1)].byte_end;
  }
  bool waiting_is_written() const { return done_ >= waiting_; }
  // The first piece may end inside what waited, which no event can tell.
  bool begins_untold() const { return !pieces_.empty() && pieces_[0] < waiting_; }
  void belongs_to(std::int64_t source) {
    for (std::size_t i = static_cast<std::size_t>(waiting_); i < tokens_.size(); ++i)
      tokens_[i].source = source;
  }

 private:
  std::int64_t first_, waiting_, done_ = 0;
  std::vector<WindowToken> own_, tokens_;
  std::vector<std::int64_t> pieces_;
};

}  // namespace

Ingestion::Ingestion(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ingestion::Ingestion(Ingestion&& other) noexcept = default;
Ingestion::~Ingestion() = default;

Ingestion::Ingestion(Session& session, const Document& document, Progress progress, Until until,
                     EventSink told)
    : state_(std::make_unique<State>(session, document, std::move(progress), std::move(until),
                                     std::move(told))) {
  state_->document = state_->owned.emplace(document).view();
  state_->steps.emplace(remember(*state_));
}

Ingestion Ingestion::of_views(Session& session, const Document& document, Progress progress, Until until,
                              EventSink told) {
  auto state =
      std::make_unique<State>(session, document, std::move(progress), std::move(until), std::move(told));
  state->steps.emplace(remember(*state));
  return Ingestion(std::move(state));
}

Ingestion Ingestion::flush(Session& session, Until until, EventSink told) {
  auto state = std::make_unique<State>(session, Document{}, Progress{}, std::move(until), std::move(told));
  state->steps.emplace(write_all(*state));
  return Ingestion(std::move(state));
}

Work* Ingestion::next_work() {
  State& state = *state_;
  if (!state.ended && state.until.reached()) stop();
  return state.ended ? nullptr : state.steps->next_work();
}

void Ingestion::take(WorkResult result) { state_->steps->take(std::move(result)); }

void Ingestion::stop() {
  State& state = *state_;
  if (!state.steps->begun()) state.ended = true;
  if (!state.ended) state.steps->stop();
}

const RememberResult& Ingestion::result() const { return state_->result; }

// Nothing changes before a chunk has been written: what failed or was stopped leaves no trace.
Steps<> Ingestion::remember(State& state) {
  Session& session = state.session;
  RememberResult& result = state.result;
  const Document& document = state.document;
  const Session::Change change(session);
  session.require_memory("remember");
  session.check_ids(document.ids);
  std::vector<WindowToken> own = session.tokens_of(document);
  result.tokens = std::ssize(own);
  if (document.first_token < 0 || document.first_token > result.tokens)
    fail(ErrorCode::invalid_argument, "{}: to be continued at token {}, but it has {}", document.source,
         document.first_token, result.tokens);
  result.token_begin = result.token_end = document.first_token;
  Cut cut(document, std::move(own), session.waiting_documents(), *session.engine_->weights().memory);
  const auto tell = [&](bool complete) {
    if (state.told)
      state.told(TextTaken{.source = document.source,
                           .text = document.text,
                           .ids = document.ids,
                           .token_begin = document.first_token,
                           .token_end = result.token_end,
                           .byte_begin = cut.byte_at(document.first_token),
                           .byte_end = cut.byte_at(result.token_end),
                           .complete = complete});
  };
  const auto begin = [&] {
    cut.belongs_to(session.source_of(document));
    session.drop_waiting_documents();
  };
  Session::Undo undo(session, cut.begins_untold());
  std::int64_t updates = 0;
  for (const std::int64_t length : cut.pieces()) {
    if (state.progress && !state.progress(cut.done(), cut.total())) co_return;
    const Stopping stopping{OnStop::report, state.until.flag};
    const bool written = co_await session.write_rows(cut.next(length), stopping);
    if (!written) co_return;
    if (cut.done() == 0) begin();
    session.record_.add_update(Session::spans_of(cut.next(length)));
    cut.advance(length);
    ++updates;
    if (!cut.waiting_is_written()) continue;
    undo.keep();
    result.updates = updates;
    result.token_end = cut.token_end();
    if (cut.done() < cut.total()) tell(false);
  }
  if (cut.done() == 0) begin();
  session.window_.insert(session.window_.end(), cut.rest().begin(), cut.rest().end());  // waits
  result.token_end = result.tokens;
  result.complete = true;
  tell(true);
  if (state.progress) state.progress(cut.total(), cut.total());
}

Steps<> Ingestion::write_all(State& state) {
  Session& session = state.session;
  const Session::Change change(session);
  session.require_memory("flush");
  Session::Undo undo(session, session.window_size() >= kLeastChunk);
  state.result.updates = co_await session.write_window();
  undo.keep();
  state.result.complete = true;
  if (state.told) state.told(Flushed{});
}

RememberResult Session::remember(const Document& document, const Progress& progress, const Until& until,
                                 const EventSink& told) {
  Ingestion ingestion = Ingestion::of_views(*this, document, progress, until, told);
  run_alone(engine_->runner(), ingestion);
  return ingestion.result();
}

RememberResult Session::remember(std::string_view text, std::string_view source, const Progress& progress) {
  return remember(Document{.source = source, .text = text}, progress);
}

RememberResult Session::remember_ids(std::span<const io::TokenId> ids, std::string_view source,
                                     const Progress& progress) {
  return remember(Document{.source = source, .ids = ids}, progress);
}

std::int64_t Session::flush(const EventSink& told) {
  Ingestion ingestion = Ingestion::flush(*this, {}, told);
  run_alone(engine_->runner(), ingestion);
  return ingestion.result().updates;
}

}  // namespace mplus::engine
