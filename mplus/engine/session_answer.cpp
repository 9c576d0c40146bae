// The asking half of a session: prompts, turns of conversation, and the loop that generates.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/engine/answer/answer_text.h"
#include "mplus/engine/answer/reading.h"
#include "mplus/engine/answer/reread.h"
#include "mplus/engine/answer/turn_choice.h"
#include "mplus/engine/session.h"

namespace mplus::engine {
namespace {

constexpr std::size_t kPenaltyTokens = 64;  // a repetition penalty looks this far back

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The chunk whose rows were read, where it was one.
std::optional<std::int64_t> chunk_seen(const Answer& answer, std::int64_t K) {
  for (const auto* lists : {&answer.recalled_births, &answer.seen_births})
    for (const std::vector<std::int64_t>& births : *lists)
      if (!births.empty()) return memory::chunk_of(births.front(), K);
  return std::nullopt;
}

std::optional<TurnChoice> turn_choice(const Engine& engine) {
  if (!engine.has_memory() || !engine.has_tokenizer()) return std::nullopt;
  const io::MemoryConfig& memory = *engine.weights().memory;
  if (memory.no_answer.empty() || (memory.turn_lean == 0 && memory.turn_lag == 0)) return std::nullopt;
  return TurnChoice(engine.tokenizer(), memory);
}

// An answer that was stopped before it began is no failure.
template <class Answering>
Answer unless_stopped(Answering&& answering) {
  try {
    return answering();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    Answer none;
    none.reason = StopReason::cancelled;
    return none;
  }
}

// The options with the prior that the text's own words give.
GenerateOptions with_words(GenerateOptions options, std::string_view text) {
  if (!options.prior && options.words) options.prior = options.words(text);
  options.words = nullptr;
  return options;
}

}  // namespace

// And where the model says so, read over what the question recalls.
GenerateOptions Session::asking(const GenerateOptions& options, std::string_view question) const {
  GenerateOptions asks = with_words(options, question);
  const memory::RecallOptions model = engine_->recall_options();
  if (!asks.read_over && asks.recall_over_everything.value_or(model.over_everything))
    asks.read_over = model.read_over;
  return asks;
}

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::end_of_text:
      return "end_of_text";
    case StopReason::stop_string:
      return "stop_string";
    case StopReason::max_tokens:
      return "max_tokens";
    case StopReason::context_full:
      return "context_full";
    case StopReason::cancelled:
      return "cancelled";
  }
  return "?";
}

Answer Session::generate(std::string_view text, const GenerateOptions& options) {
  const std::int64_t source = record_.sources();
  std::vector<WindowToken> prompt = tokens_of(text, source);
  // A model with memory has its own beginning in every layer; a plain one may want its tokenizer's.
  const auto bos = engine_->tokenizer().bos();
  if (!engine_->has_memory() && engine_->weights().config.add_bos && bos)
    prompt.insert(prompt.begin(), WindowToken{.id = *bos, .source = source});
  return answer_prompt(prompt, with_words(options, text));
}

Answer Session::generate_ids(std::span<const io::TokenId> ids, const GenerateOptions& options) {
  check_ids(ids);
  return answer_prompt(tokens_of(ids, record_.sources()), options);
}

// Reads on a fork, so that nothing of this session changes.
Answer Session::answer_prompt(std::span<const WindowToken> prompt, const GenerateOptions& options) {
  if (prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty");
  Session reader = fork();
  reader.sink_ = nullptr;
  std::string text;  // of the prompt, for the record of a part that has to be written
  for (const WindowToken& t : prompt)
    if (engine_->has_tokenizer()) text += engine_->tokenizer().token_bytes(t.id);
  const std::int64_t source = reader.record_.add_source({"prompt", Speaker::user, std::move(text)});
  return unless_stopped([&] {
    reader.append_prompt(prompt, options.cancel);
    const auto n = static_cast<std::int64_t>(prompt.size());
    return reader.run(std::max<std::int64_t>(0, reader.window_size() - n), reader.window_size(), source,
                      options, nullptr);
  });
}

Answer Session::ask(std::string_view question, const GenerateOptions& options) {
  const std::string prompt = engine_->has_memory() ? engine_->weights().memory->prompt : "";
  if (prompt.empty()) {
    if (!engine_->chat_template()) return generate(question, options);
    Session reader = fork();
    reader.sink_ = nullptr;
    return reader.say(question, options);
  }
  std::string text = prompt;
  if (const std::size_t at = text.find("{q}"); at != std::string::npos) text.replace(at, 3, question);
  GenerateOptions with_stop = asking(options, question);
  if (!engine_->weights().memory->stop.empty()) with_stop.stop.push_back(engine_->weights().memory->stop);
  return generate(text, with_stop);
}

void Session::set_system_message(std::string_view text) {
  if (!engine_->chat_template()) fail(ErrorCode::unsupported, "this model's files name no chat template");
  if (turns_ > 0) fail(ErrorCode::invalid_argument, "a system message comes before the first turn");
  append_message(engine_->chat_template()->message(io::Role::system, text), Speaker::system, text);
  emit(TextTaken{.source = "conversation",
                 .speaker = Speaker::system,
                 .text = text,
                 .byte_end = static_cast<std::int64_t>(text.size())});
}

void Session::append_message(const io::ChatTemplate::Part& part, Speaker speaker, std::string_view text,
                             StopFlag stop) {
  const std::int64_t source = record_.add_source({"conversation", speaker, std::string(text)});
  std::vector<WindowToken> tokens = tokens_of(part.ids, source);
  const io::Tokenizer& tokenizer = engine_->tokenizer();
  // Templates may strip white space around a message.
  const std::string own =
      tokenizer.decode(std::span(part.ids).subspan(part.text_begin, part.text_end - part.text_begin), false);
  const std::size_t stripped = text.find(own);
  const auto size = static_cast<std::int64_t>(text.size());
  std::int64_t bytes = stripped == std::string_view::npos ? 0 : static_cast<std::int64_t>(stripped);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i].byte_begin = bytes;
    if (i >= part.text_begin && i < part.text_end)
      bytes = std::min(size, bytes + static_cast<std::int64_t>(tokenizer.token_bytes(tokens[i].id).size()));
    tokens[i].byte_end = bytes;
  }
  append_prompt(tokens, stop);
}

Answer Session::say(std::string_view message, const GenerateOptions& options) {
  Session before = fork();
  return unless_stopped([&] {
    try {
      return turn(message, options, nullptr);
    } catch (...) {
      *this = std::move(before);
      throw;
    }
  });
}

Answer Session::turn(std::string_view message, const GenerateOptions& options, const TurnTaken* told) {
  if (!engine_->chat_template())
    fail(ErrorCode::unsupported, "this model's files name no chat template; use plain generation");
  const io::ChatTemplate& chat = *engine_->chat_template();
  const bool has_system = std::any_of(window_.begin(), window_.end(), [&](const WindowToken& t) {
    return record_.source(t.source).speaker == Speaker::system;
  });
  if (turns_ == 0 && !has_system) {
    std::vector<io::TokenId> start = chat.default_system();
    if (!engine_->has_memory()) {
      const auto first = chat.conversation_start();
      start.insert(start.begin(), first.begin(), first.end());
    }
    if (!start.empty())
      append_prompt(tokens_of(start, record_.add_source({"conversation", Speaker::system, ""})));
  }
  const io::ChatTemplate::Part part = chat.message(io::Role::user, message);
  append_message(part, Speaker::user, message, options.cancel);
  // The newest message asks, without its template's tokens.
  const auto message_tokens = static_cast<std::int64_t>(part.ids.size());
  const std::int64_t from_end_begin = message_tokens - static_cast<std::int64_t>(part.text_begin);
  const std::int64_t from_end_end = message_tokens - static_cast<std::int64_t>(part.text_end);
  const std::int64_t source = record_.add_source({"conversation", Speaker::assistant, ""});
  const std::vector<WindowToken> open = tokens_of(chat.open_assistant(), source);
  const auto opening = static_cast<std::int64_t>(open.size());
  append_prompt(open, options.cancel);
  const std::int64_t message_end = window_size() - opening;
  Answer answer = run(std::max<std::int64_t>(0, message_end - from_end_begin), message_end - from_end_end,
                      source, asking(options, message), told);
  record_.replace_source(source, {"conversation", Speaker::assistant, answer.text});
  for (WindowToken& t : window_)
    if (t.source == source) t.byte_end = std::min(t.byte_end, static_cast<std::int64_t>(answer.text.size()));
  std::vector<WindowToken> close = tokens_of(chat.close_assistant(), source);
  std::int64_t index = opening + static_cast<std::int64_t>(answer.tokens.size());
  for (WindowToken& t : close) {
    t.index = index++;
    t.byte_begin = t.byte_end = static_cast<std::int64_t>(answer.text.size());
  }
  append_prompt(close);
  ++turns_;
  const std::string_view rule = options.recall_strategy ? "" : memory::recall_rule_name(answer.recall);
  std::vector<std::vector<std::int64_t>> births = answer.recalled_births;
  births.insert(births.end(), answer.seen_births.begin(), answer.seen_births.end());
  emit(TurnTaken{.message = message,
                 .answer = answer.text,
                 .answer_ids = answer.tokens,
                 .answer_read = answer.read_tokens,
                 .recall = rule,
                 .recalled_births = births,
                 .reread = answer.reread});
  return answer;
}

void Session::replay(const Event& event, bool as_recalled) {
  if (const auto* text = std::get_if<TextTaken>(&event)) {
    if (text->speaker == Speaker::system) return set_system_message(text->text);
    remember({.source = text->source, .text = text->text, .ids = text->ids, .first_token = text->token_begin},
             [&, updates = memory_.updates()](std::int64_t done, std::int64_t total) {
               if (text->complete || done == total) return true;
               // Stops where it had been stopped: behind the update that ended with this token.
               if (memory_.updates() == updates) return true;
               const std::vector<Span>& written = record_.spans(memory_.updates() - 1);
               return written.back().token_end < text->token_end;
             });
  } else if (const auto* told = std::get_if<TurnTaken>(&event)) {
    GenerateOptions options;
    options.recall = memory::recall_rule_from_name(told->recall);
    // What these two went by is not in the event.
    if (options.recall == memory::RecallRule::words || options.recall == memory::RecallRule::oracle)
      options.recall.reset();
    if (as_recalled)
      options.recall_strategy = [&] {
        return memory::recall_births({told->recalled_births.begin(), told->recalled_births.end()});
      };
    TurnTaken again = *told;
    if (!as_recalled) {  // chunks may have other numbers now
      options.reread = std::ssize(told->reread);
      again.reread = {};
    }
    turn(told->message, options, &again);
  } else {
    flush();
  }
}

Answer Session::run(std::int64_t scouts_begin, std::int64_t scouts_end, std::int64_t answer_source,
                    const GenerateOptions& options, const TurnTaken* told) {
  check(options.sampling);
  if (options.max_tokens < 0)
    fail(ErrorCode::invalid_argument, "max tokens: expected 0 or more, got {}", options.max_tokens);
  Answer answer;
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t already_read = rows_.size();
  const auto ids_from = [&](std::int64_t first) {
    std::vector<io::TokenId> ids;
    for (std::int64_t i = first; i < window_size(); ++i)
      ids.push_back(window_[static_cast<std::size_t>(i)].id);
    return ids;
  };
  const std::vector<Span> waiting = told_in_window(scouts_begin);
  Reading reading(*engine_, memory_, rows_, options, !waiting.empty() && !told);
  const bool as_told = told && !told->reread.empty();
  if (as_told || options.reread > 0) {
    // The question alone asks what to recall; what is read again must not ask for itself.
    reading.plan(ids_from(already_read), scouts_begin - already_read, scouts_end - already_read);
    const std::vector<std::int64_t> best =
        as_told ? std::vector<std::int64_t>(told->reread.begin(), told->reread.end()) : reading.ranking();
    answer.reread = insert_reread(scouts_begin, best, as_told ? std::ssize(best) : options.reread,
                                  as_told ? 0 : options.max_tokens);
    scouts_begin += reread_.count;
    scouts_end += reread_.count;
  }
  std::vector<io::TokenId> unread = ids_from(already_read);
  answer.prompt_tokens = static_cast<std::int64_t>(unread.size());
  std::vector<float> next(static_cast<std::size_t>(engine_->weights().config.vocab));
  const model::LogitsSink sink = [&](std::size_t, std::int64_t, std::span<const float> logits) {
    std::copy(logits.begin(), logits.end(), next.begin());
  };
  const auto expected = told ? static_cast<std::int64_t>(told->answer_ids.size()) : options.max_tokens;
  const StepFunction step = [&](bool memory_changed, io::TokenId id) {
    if (memory_changed) reading.memory_changed();
    reading.step(id, sink);
    ++answer.read_tokens;
  };
  const std::int64_t asked = window_size();
  const std::optional<TurnChoice> choice = turn_choice(*engine_);
  for (auto prefill_start = start;; prefill_start = std::chrono::steady_clock::now()) {
    reading.prefill(unread, scouts_begin - already_read, scouts_end - already_read,
                    std::min(expected, engine_->window_tokens()), answer.prompt_tokens - 1, sink);
    answer.recalled_births = reading.recalled_births();
    answer.seen_births = reading.seen_births();
    if (options.why) answer.why = reading.why(record_);
    const auto decode_start = std::chrono::steady_clock::now();
    answer.prefill_seconds += std::chrono::duration<double>(decode_start - prefill_start).count();
    const std::optional<std::int64_t> chunk = chunk_seen(answer, memory_.layout().K);
    const bool window_alone = !chunk && !answer.seen_births.empty();
    bool answered = true;
    if (told) {
      take_tokens(answer, *told, answer_source, step);
    } else if (choice && reading.behind() && !choice->settle(next, *reading.behind()) && reading.has_next()) {
      answered = false;
    } else {
      // What waits is text: an answer that it gives must stand in it.
      std::string quotes;
      if (window_alone)
        for (const Span& span : waiting) quotes += record_.text(span);
      answered =
          generate_tokens(answer, unread, answer_source, options, next, step, reading.has_next(), quotes);
    }
    answer.decode_seconds += seconds_since(decode_start);
    if (answered) {
      if (window_alone) answer.waiting = waiting;
      break;
    }
    // Chunks are read in turn, and this one says nothing: as if it had not been read.
    if (chunk) answer.passed.push_back(*chunk);
    reading.next();
    rows_.truncate(already_read);
    window_.erase(window_.begin() + asked, window_.end());
    answer.tokens.clear();
    answer.read_tokens = 0;
  }
  answer.recall = reading.rule();
  const auto among = [](const std::vector<std::int64_t>& chunks, std::int64_t chunk) {
    return std::find(chunks.begin(), chunks.end(), chunk) != chunks.end();
  };
  for (WhyChunk& chunk : answer.why) {
    chunk.reread = among(answer.reread, chunk.chunk);
    chunk.passed = among(answer.passed, chunk.chunk);
  }
  drop_reread();
  return answer;
}

bool Session::generate_tokens(Answer& answer, std::vector<io::TokenId> recent, std::int64_t answer_source,
                              const GenerateOptions& options, std::span<const float> next,
                              const StepFunction& step, bool may_be_none, const std::string& quotes) {
  Sampler sampler(options.sampling, engine_->weights().config.vocab);
  // Without a tokenizer a model speaks in ids alone.
  AnswerText text(engine_->has_tokenizer() ? &engine_->tokenizer() : nullptr, options,
                  may_be_none ? engine_->weights().memory->no_answer : "", quotes);
  const auto expected = static_cast<std::size_t>(std::min<std::int64_t>(options.max_tokens, 1 << 16));
  answer.tokens.reserve(expected);
  recent.reserve(recent.size() + expected);
  window_.reserve(window_.size() + expected);
  WindowToken token{.source = answer_source};
  if (window_.back().source == answer_source) token.index = window_.back().index + 1;
  answer.reason = StopReason::max_tokens;
  for (std::int64_t n = 0; n < options.max_tokens; ++n) {
    if (n == 0) end_if_stopped(options.cancel);
    if (stop_requested(options.cancel)) {
      answer.reason = StopReason::cancelled;
      break;
    }
    token.id = sampler.pick(next, std::span(recent).last(std::min(recent.size(), kPenaltyTokens)),
                            static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(turns_));
    if (engine_->is_end(token.id)) {
      answer.reason = StopReason::end_of_text;
      break;
    }
    answer.tokens.push_back(token.id);
    recent.push_back(token.id);
    if (!text.push(token.id)) answer.reason = text.reason();
    const bool full = !engine_->has_memory() && window_size() == engine_->window_tokens();
    if (full) answer.reason = StopReason::context_full;
    const bool spills = push_answer_token(token);
    if (spills && !text.stands()) answer.reason = StopReason::cancelled;  // there is no way back
    if (text.is_none() || answer.reason != StopReason::max_tokens || n + 1 == options.max_tokens) break;
    step(spills, token.id);
  }
  const bool nothing = text.is_none() || (!quotes.empty() && text.is_empty());
  const bool none = nothing && answer.reason != StopReason::cancelled;
  if (!none) text.stands();
  answer.text = text.finish();
  return !none;
}

std::vector<std::int64_t> Session::insert_reread(std::int64_t at, std::span<const std::int64_t> best_first,
                                                 std::int64_t n, std::int64_t answer_tokens) {
  const std::int64_t W = engine_->window_tokens();
  const std::int64_t budget = W - window_size() - std::min(answer_tokens, W / 4);
  const Reread again = reread_chunks(*engine_, record_, best_first, n, budget);
  std::vector<WindowToken> tokens = tokens_of(again.ids, window_[static_cast<std::size_t>(at)].source);
  window_.insert(window_.begin() + at, tokens.begin(), tokens.end());
  if (!tokens.empty()) reread_ = {at, std::ssize(tokens)};
  return again.chunks;
}

// Nothing of it is written: the memory holds it. What was read behind it keeps what it saw.
void Session::drop_reread() {
  const auto [at, count] = std::exchange(reread_, {});
  window_.erase(window_.begin() + at, window_.begin() + at + count);
  rows_.erase(at, count);
}

bool Session::push_answer_token(WindowToken& token) {
  token.byte_begin = token.byte_end;
  if (engine_->has_tokenizer())
    token.byte_end += static_cast<std::int64_t>(engine_->tokenizer().token_bytes(token.id).size());
  // The newest token is not read yet: it stays out of what is written to make room for it.
  const bool spills = engine_->has_memory() && window_size() >= engine_->window_tokens();
  if (spills && reread_.count > 0) {
    drop_reread();  // it is in memory already
  } else if (spills) {
    write_front(std::min(engine_->chunk_tokens(), window_size()));
  }
  window_.push_back(token);
  ++token.index;
  return spills;
}

void Session::take_tokens(Answer& answer, const TurnTaken& told, std::int64_t answer_source,
                          const StepFunction& step) {
  check_ids(told.answer_ids);
  WindowToken token{.source = answer_source};
  if (window_.back().source == answer_source) token.index = window_.back().index + 1;
  for (io::TokenId id : told.answer_ids) {
    token.id = id;
    answer.tokens.push_back(id);
    const bool spills = push_answer_token(token);
    if (static_cast<std::int64_t>(answer.tokens.size()) <= told.answer_read) step(spills, id);
  }
  answer.text = told.answer;
}

}  // namespace mplus::engine
