#include "mplus/engine/session.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/engine/answer/reading.h"
#include "mplus/engine/cutting.h"

namespace mplus::engine {
namespace {

memory::Memory fresh_memory(Engine& engine, std::uint64_t seed) {
  if (!engine.has_memory()) return {engine.layout(), seed};
  memory::Memory memory = engine.initial_memory();
  memory.set_seed(seed);
  return memory;
}

}  // namespace

SessionState::SessionState(Engine& engine, std::uint64_t seed, std::optional<RowFormat> long_term)
    : memory(fresh_memory(engine, seed)), rows(engine.layout()) {
  if (long_term) memory.set_row_format(*long_term);
}

Session::Session(Engine& engine, std::uint64_t seed, std::optional<RowFormat> long_term)
    : Session(engine, SessionState(engine, seed, long_term)) {}

Session::Session(Engine& engine, SessionState state)
    : engine_(&engine),
      memory_(std::move(state.memory)),
      rows_(std::move(state.rows)),
      window_(std::move(state.window)),
      record_(std::move(state.record)),
      turns_(state.turns) {}

Session Session::without_memory(Engine& engine) {
  Session session(engine);
  memory::Layout layout = engine.layout();
  session.memory_ = memory::Memory(layout, 0);
  layout.dtype = DType::f32;
  session.rows_ = memory::WindowRows(layout);
  session.memoryless_ = true;
  return session;
}

std::int64_t Session::window_tokens() const {
  return memoryless_ ? engine_->weights().config.context : engine_->window_tokens();
}

Session Session::fork() const {
  Session copy = *this;
  copy.changing_ = false;
  return copy;
}

void Session::become(Session&& other) {
  const bool changing = changing_;
  *this = std::move(other);
  changing_ = changing;
}

Session::Change::Change(Session& session) : session_(session) {
  if (session.changing_)
    fail(ErrorCode::invalid_argument, "the session is being changed already: one change at a time");
  session.changing_ = true;
}

// Whoever looks at the session from now on need not wait for values to be moved, nor are those of a pass
// kept.
Session::Change::~Change() {
  session_.memory_.settle(&session_.engine_->queue().pool());
  session_.changing_ = false;
}

void Session::require_memory(const char* what) const {
  if (memoryless_) fail(ErrorCode::invalid_argument, "{}: this session was made without a memory", what);
  if (!engine_->has_memory())
    fail(ErrorCode::invalid_argument,
         "{}: this model is a plain decoder without a memory; name a delta for it", what);
}

void Session::check_ids(std::span<const io::TokenId> ids) const {
  const std::int64_t vocab = engine_->weights().config.vocab;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab)
      fail(ErrorCode::invalid_argument, "token {}: expected an id in [0, {}), got {}", i, vocab, ids[i]);
}

std::vector<WindowToken> Session::tokens_of(std::string_view text, std::int64_t source) const {
  return tokens_of(engine_->tokenizer().encode_with_offsets(text), source);
}

std::vector<WindowToken> Session::tokens_of(const Document& document) const {
  if (!document.ids.empty()) return tokens_of(document.ids, 0);
  return document.encoded ? tokens_of(*document.encoded, 0) : tokens_of(document.text, 0);
}

std::vector<WindowToken> Session::tokens_of(const io::Tokenizer::Offsets& encoded, std::int64_t source) {
  std::vector<WindowToken> tokens = tokens_of(encoded.ids, source);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].byte_begin = i == 0 ? 0 : encoded.ends[i - 1];
    tokens[i].byte_end = encoded.ends[i];
  }
  return tokens;
}

std::vector<WindowToken> Session::tokens_of(std::span<const io::TokenId> ids, std::int64_t source) {
  std::vector<WindowToken> tokens(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    tokens[i] = {.id = ids[i], .source = source, .index = static_cast<std::int64_t>(i)};
  return tokens;
}

// A document that is continued where it stopped, with nothing said in between, goes on in its source.
std::int64_t Session::source_of(const Document& document) {
  const std::int64_t last = record_.sources() - 1;
  if (document.first_token > 0 && last >= 0 && record_.updates() > 0) {
    const Source& source = record_.source(last);
    const std::vector<Span>& written = record_.spans(record_.updates() - 1);
    if (source.name == document.source && source.text == document.text && !written.empty() &&
        written.back().source == last && written.back().token_end == document.first_token)
      return last;
  }
  return record_.add_source({std::string(document.source), Speaker::document, std::string(document.text)});
}

std::vector<Span> Session::spans_of(std::span<const WindowToken> tokens) {
  std::vector<Span> spans;
  for (const WindowToken& t : tokens) {
    if (!spans.empty() && spans.back().source == t.source && spans.back().token_end == t.index) {
      spans.back().byte_end = std::max(spans.back().byte_end, t.byte_end);
      spans.back().token_end = t.index + 1;
    } else {
      spans.push_back({t.source, t.byte_begin, t.byte_end, t.index, t.index + 1});
    }
  }
  return spans;
}

// Documents, and what a person said; not what they asked, nor what the model answered from memory.
std::vector<Span> Session::told_in_window(std::int64_t end) const {
  std::vector<WindowToken> tokens;
  for (const WindowToken& token : std::span(window_).first(static_cast<std::size_t>(end))) {
    const Source& source = record_.source(token.source);
    const bool said = source.speaker == Speaker::user && token.byte_end > token.byte_begin &&
                      !trim(source.text).ends_with('?');
    if (said || source.speaker == Speaker::document) tokens.push_back(token);
  }
  return spans_of(tokens);
}

// Documents too short to be written wait among the conversation.
std::vector<WindowToken> Session::waiting_documents() const {
  std::vector<WindowToken> waiting;
  for (const WindowToken& token : window_)
    if (record_.source(token.source).speaker == Speaker::document) waiting.push_back(token);
  return waiting;
}

void Session::drop_waiting_documents() {
  std::vector<WindowToken> others;
  std::int64_t kept_rows = 0;
  for (const WindowToken& token : window_) {
    const bool read = kept_rows < rows_.size() && std::ssize(others) == kept_rows;
    if (record_.source(token.source).speaker != Speaker::document) {
      others.push_back(token);
      if (read) ++kept_rows;
    } else if (read) {
      rows_.erase(kept_rows, 1);
    }
  }
  window_ = std::move(others);
}

Steps<bool> Session::write_rows(std::span<const WindowToken> tokens, Stopping stopping) {
  std::vector<io::TokenId> ids(tokens.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = tokens[i].id;
  Write write;
  write.chunk = ids;
  write.memory = &memory_;
  write.drops = injected_drops_.empty() ? nullptr : &injected_drops_.front();
  write.stop = stopping.flag;
  Work work = std::move(write);
  const bool written = co_await Offer{work, stopping.how};
  if (!written) co_return false;
  const auto& done = std::get<Write>(work);
  memory_.update(done.written.layers, done.drops, &engine_->queue());
  if (!injected_drops_.empty()) injected_drops_.erase(injected_drops_.begin());
  co_return true;
}

Steps<bool> Session::write_front(std::int64_t count, Stopping stopping) {
  const std::span<const WindowToken> front = std::span(window_).first(static_cast<std::size_t>(count));
  const bool written = co_await write_rows(front, stopping);
  if (!written) co_return false;
  record_.add_update(spans_of(front));
  rows_.erase(0, std::min(count, rows_.size()));
  window_.erase(window_.begin(), window_.begin() + count);
  co_return true;
}

Steps<std::int64_t> Session::write_window() {
  std::int64_t updates = 0;
  if (window_size() < kLeastChunk) co_return updates;
  const io::MemoryConfig& sizes = *engine_->weights().memory;
  const std::vector<std::int64_t> pieces = cut_text(window_size(), sizes.C, sizes.K);
  for (const std::int64_t length : pieces) {
    co_await write_front(length);
    ++updates;
  }
  co_return updates;
}

Steps<> Session::append_prompt(std::vector<WindowToken> tokens, Stopping stopping) {
  const auto n = static_cast<std::int64_t>(tokens.size());
  const std::int64_t W = window_tokens();
  if (!has_memory()) {
    if (window_size() + n > W)
      fail(ErrorCode::out_of_capacity,
           "the prompt has {} tokens{}; this model's context is {} and it has no memory", n,
           window_.empty() ? "" : fmt::format(" after {} of conversation", window_size()), W);
    window_.insert(window_.end(), tokens.begin(), tokens.end());
    co_return;
  }
  while (window_size() + n > W && window_size() >= kLeastChunk)
    co_await write_front(std::min(engine_->chunk_tokens(), window_size()), stopping);
  window_.insert(window_.end(), tokens.begin(), tokens.end());
  // Longer than the window by itself: everything before the last W tokens is written, cut like a document.
  const io::MemoryConfig& sizes = *engine_->weights().memory;
  const std::int64_t excess = window_size() - W;
  if (excess < kLeastChunk) co_return;
  const std::vector<std::int64_t> pieces = cut_text(excess, sizes.C, sizes.K);
  for (const std::int64_t length : pieces) co_await write_front(length, stopping);
}

io::TokenId Session::read(std::span<const io::TokenId> ids, const model::ReadTaps* taps) {
  if (!memoryless_) fail(ErrorCode::invalid_argument, "read: a session with a memory reads what is asked");
  const Change change(*this);
  StepsUnderWay<io::TokenId> reading(read_steps(ids, taps));
  run_alone(engine_->runner(), reading);
  return reading.result();
}

Steps<io::TokenId> Session::read_steps(std::span<const io::TokenId> ids, const model::ReadTaps* taps) {
  check_ids(ids);
  if (ids.empty()) fail(ErrorCode::invalid_argument, "read: no tokens");
  const std::int64_t source = record_.add_source({"text", Speaker::system, ""});
  co_await append_prompt(tokens_of(ids, source));
  GenerateOptions options;
  options.recall.rule = RecallRule::none;
  options.taps = taps;
  Reading reading(*engine_, memory_, rows_, options);
  io::TokenId next = 0;
  const TokenLogits sink = [&](std::int64_t, std::span<const float> logits) { next = greedy(logits); };
  const Prompt prompt{ids};
  co_await reading.prefill(prompt, 0, std::ssize(ids) - 1, sink);
  co_return next;
}

void Session::keep_read(std::span<const std::vector<std::int64_t>> rows) {
  MPLUS_CHECK(memoryless_ && rows_.size() == window_size(), "{} of {} tokens read", rows_.size(),
              window_size());
  const Change change(*this);
  rows_.keep(rows);
  window_.erase(window_.begin(), window_.end() - rows_.size());
}

Score Session::score(std::span<const io::TokenId> ids, const ScoreOptions& options) const {
  StepsUnderWay<Score> scoring(score_steps(ids, options));
  run_alone(engine_->runner(), scoring);
  return scoring.result();
}

Steps<Score> Session::score_steps(std::span<const io::TokenId> ids, const ScoreOptions& options) const {
  check_ids(ids);
  const auto n = static_cast<std::int64_t>(ids.size());
  if (n > window_tokens())
    fail(ErrorCode::out_of_capacity, "{} tokens to score; at most {} fit into the {}", n, window_tokens(),
         has_memory() ? "window" : "model's context");
  Score score;
  if (n == 0) co_return score;
  Session reader = fork();
  Reading reading(*engine_, reader.memory_, reader.rows_, options.read);
  std::vector<io::TokenId> tokens;
  for (std::int64_t i = rows_.size(); i < window_size(); ++i)
    tokens.push_back(window_[static_cast<std::size_t>(i)].id);
  const auto unread = static_cast<std::int64_t>(tokens.size());
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  const std::int64_t scouts_end = unread + (options.scouts_end < 0 ? n : std::min(n, options.scouts_end));
  const TokenLogits sink = [&](std::int64_t token, std::span<const float> logits) {
    if (token + 1 == unread + n) return;
    score.argmax.push_back(greedy(logits));
    score.nll.push_back(negative_log_likelihood(logits, tokens[static_cast<std::size_t>(token + 1)]));
  };
  const Prompt prompt{tokens, unread, scouts_end};
  co_await reading.prefill(prompt, 0, unread, sink);
  if (options.read.why) score.why = reading.why(record_);
  co_return score;
}

}  // namespace mplus::engine
