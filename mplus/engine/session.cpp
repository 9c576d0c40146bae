#include "mplus/engine/session.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/engine/answer/reading.h"
#include "mplus/engine/cutting.h"
#include "mplus/model/write_pass.h"

namespace mplus::engine {
namespace {

memory::Memory fresh_memory(Engine& engine, std::uint64_t seed) {
  if (!engine.has_memory()) return {engine.layout(), seed};
  memory::Memory memory = engine.initial_memory();
  memory.set_seed(seed);
  return memory;
}

}  // namespace

Session::Session(Engine& engine, std::uint64_t seed)
    : engine_(&engine), memory_(fresh_memory(engine, seed)), rows_(engine.layout()) {}

void Session::require_memory(const char* what) const {
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
  const auto encoded = engine_->tokenizer().encode_with_offsets(text);
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

RememberResult Session::remember(std::string_view text, std::string_view source, const Progress& progress) {
  return remember(Document{.source = source, .text = text}, progress);
}

RememberResult Session::remember_ids(std::span<const io::TokenId> ids, std::string_view source,
                                     const Progress& progress) {
  return remember(Document{.source = source, .ids = ids}, progress);
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

// Text of K tokens or more is written at once, behind what was waiting; shorter text waits until C tokens
// have come together.
RememberResult Session::remember(const Document& document, const Progress& progress) {
  require_memory("remember");
  check_ids(document.ids);
  const io::MemoryConfig& sizes = *engine_->weights().memory;
  // Encoded before anything changes: a text may be refused.
  std::vector<WindowToken> own =
      document.ids.empty() ? tokens_of(document.text, 0) : tokens_of(document.ids, 0);
  RememberResult result{.tokens = static_cast<std::int64_t>(own.size())};
  if (document.first_token < 0 || document.first_token > result.tokens)
    fail(ErrorCode::invalid_argument, "{}: to be continued at token {}, but it has {}",
         std::string(document.source), document.first_token, result.tokens);
  const std::int64_t source = source_of(document);
  for (WindowToken& token : own) token.source = source;
  const auto byte_at = [&](std::int64_t token) {
    return token == 0 ? 0 : own[static_cast<std::size_t>(token - 1)].byte_end;
  };
  TextTaken told{.source = document.source,
                 .text = document.text,
                 .ids = document.ids,
                 .token_begin = document.first_token,
                 .byte_begin = byte_at(document.first_token)};
  const auto tell = [&](bool complete) {
    told.token_end = result.token_end;
    told.byte_end = byte_at(result.token_end);
    told.complete = complete;
    emit(told);
  };
  std::vector<WindowToken> tokens = take_waiting_documents();
  const auto waiting = static_cast<std::int64_t>(tokens.size());
  tokens.insert(tokens.end(), own.begin() + document.first_token, own.end());
  const auto total = static_cast<std::int64_t>(tokens.size());
  std::vector<std::int64_t> pieces;
  if (result.tokens >= sizes.K || document.first_token > 0) {
    pieces = cut_text(total, sizes.C, sizes.K);
  } else if (total >= sizes.C) {
    pieces = {sizes.C};
  }
  std::int64_t done = 0;
  result.token_end = document.first_token;
  for (std::int64_t length : pieces) {
    if (progress && !progress(done, total)) {
      result.complete = false;
      break;
    }
    write_chunk(std::span(tokens).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(length)));
    done += length;
    ++result.updates;
    result.token_end = document.first_token + std::max<std::int64_t>(0, done - waiting);
    if (done < total && done >= waiting) tell(false);
  }
  // What was not written waits; of a document that was stopped, only what had waited before it.
  const std::int64_t kept = result.complete ? total : std::max(done, waiting);
  window_.insert(window_.end(), tokens.begin() + done, tokens.begin() + kept);
  if (!result.complete) return result;
  result.token_end = result.tokens;
  tell(true);
  if (progress) progress(total, total);
  return result;
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

// Documents too short to be written wait among the conversation; they come out in order.
std::vector<WindowToken> Session::take_waiting_documents() {
  std::vector<WindowToken> waiting;
  std::vector<WindowToken> others;
  std::int64_t kept_rows = 0;
  for (const WindowToken& token : window_) {
    const bool read = kept_rows < rows_.size() && static_cast<std::int64_t>(others.size()) == kept_rows;
    if (record_.source(token.source).speaker == Speaker::document) {
      waiting.push_back(token);
      if (read) rows_.erase(kept_rows, 1);
    } else {
      others.push_back(token);
      if (read) ++kept_rows;
    }
  }
  window_ = std::move(others);
  return waiting;
}

void Session::write_chunk(std::span<const WindowToken> tokens, StopFlag stop) {
  std::vector<io::TokenId> ids(tokens.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = tokens[i].id;
  const memory::Drops* drops = injected_drops_.empty() ? nullptr : &injected_drops_.front();
  const model::Injection injection{.chunk = ids, .memory = &memory_, .drops = drops, .stop = stop};
  model::inject(engine_->workspace(), {&injection, 1});
  if (drops) injected_drops_.erase(injected_drops_.begin());
  record_.add_update(spans_of(tokens));
}

void Session::write_front(std::int64_t count, StopFlag stop) {
  write_chunk(std::span(window_).first(static_cast<std::size_t>(count)), stop);
  rows_.erase(0, std::min(count, rows_.size()));
  window_.erase(window_.begin(), window_.begin() + count);
}

std::int64_t Session::flush() {
  require_memory("flush");
  std::int64_t updates = 0;
  if (window_size() >= kLeastChunk) {
    const io::MemoryConfig& sizes = *engine_->weights().memory;
    for (std::int64_t length : cut_text(window_size(), sizes.C, sizes.K)) {
      write_front(length);
      ++updates;
    }
  }
  emit(Flushed{});
  return updates;
}

void Session::append_prompt(std::span<const WindowToken> tokens, StopFlag stop) {
  const auto n = static_cast<std::int64_t>(tokens.size());
  const std::int64_t W = engine_->window_tokens();
  if (!engine_->has_memory()) {
    if (window_size() + n > W)
      fail(ErrorCode::out_of_capacity,
           "the prompt has {} tokens{}; this model's context is {} and it has no memory", n,
           window_.empty() ? "" : fmt::format(" after {} of conversation", window_size()), W);
    window_.insert(window_.end(), tokens.begin(), tokens.end());
    return;
  }
  while (window_size() + n > W && window_size() >= kLeastChunk)
    write_front(std::min(engine_->chunk_tokens(), window_size()), stop);
  window_.insert(window_.end(), tokens.begin(), tokens.end());
  // Longer than the window by itself: everything before the last W tokens is written, cut like a document.
  const io::MemoryConfig& sizes = *engine_->weights().memory;
  const std::int64_t excess = window_size() - W;
  if (excess >= kLeastChunk)
    for (std::int64_t length : cut_text(excess, sizes.C, sizes.K)) write_front(length, stop);
}

Score Session::score(std::span<const io::TokenId> ids, const ScoreOptions& options) {
  check_ids(ids);
  const auto n = static_cast<std::int64_t>(ids.size());
  if (n > engine_->window_tokens())
    fail(ErrorCode::out_of_capacity, "{} tokens to score; at most {} fit into the {}", n,
         engine_->window_tokens(), engine_->has_memory() ? "window" : "model's context");
  Session reader = fork();
  Score score;
  if (n == 0) return score;
  Reading reading(*engine_, reader.memory_, reader.rows_, options.read);
  std::vector<io::TokenId> tokens;
  for (std::int64_t i = rows_.size(); i < window_size(); ++i)
    tokens.push_back(window_[static_cast<std::size_t>(i)].id);
  const auto unread = static_cast<std::int64_t>(tokens.size());
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  const std::int64_t scouts_end = unread + (options.scouts_end < 0 ? n : std::min(n, options.scouts_end));
  reading.prefill(
      tokens, unread, scouts_end, 0, unread,
      [&](std::size_t, std::int64_t token, std::span<const float> logits) {
        if (token + 1 == unread + n) return;
        score.argmax.push_back(greedy(logits));
        score.nll.push_back(negative_log_likelihood(logits, tokens[static_cast<std::size_t>(token + 1)]));
      });
  if (options.read.why) score.why = reading.why(record_);
  return score;
}

}  // namespace mplus::engine
