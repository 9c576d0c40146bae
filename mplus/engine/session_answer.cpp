// The asking half of a session: questions, and turns of conversation.
#include <algorithm>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/engine/answer/answering.h"
#include "mplus/engine/answer/reread.h"
#include "mplus/engine/generation.h"

namespace mplus::engine {
namespace {

Answer answer_alone(Runner& runner, Generation generation) {
  run_alone(runner, generation);
  return generation.answer();
}

}  // namespace

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

Answer Session::ask(std::string_view question, const GenerateOptions& options) const {
  return answer_alone(engine_->runner(), Generation::ask(*this, question, options));
}

Answer Session::generate(std::string_view prompt, const GenerateOptions& options) const {
  return answer_alone(engine_->runner(), Generation::generate(*this, prompt, options));
}

Answer Session::generate_ids(std::span<const io::TokenId> prompt, const GenerateOptions& options) const {
  return answer_alone(engine_->runner(), Generation::generate_ids(*this, prompt, options));
}

Answer Session::say(std::string_view message, const GenerateOptions& options, const EventSink& told) {
  return answer_alone(engine_->runner(), Generation::say(*this, message, options, told));
}

void Session::set_system_message(std::string_view text, const EventSink& told) {
  if (!engine_->chat_template()) fail(ErrorCode::unsupported, "this model's files name no chat template");
  if (turns_ > 0) fail(ErrorCode::invalid_argument, "a system message comes before the first turn");
  const io::ChatTemplate::MessageIds part = engine_->chat_template()->message(io::Role::system, text);
  const Change change(*this);
  StepsUnderWay<void> appending(append_prompt(message_tokens(part, Speaker::system, text)));
  run_alone(engine_->runner(), appending);
  if (told)
    told(TextTaken{.source = "conversation",
                   .speaker = Speaker::system,
                   .text = text,
                   .byte_end = static_cast<std::int64_t>(text.size())});
}

std::vector<WindowToken> Session::message_tokens(const io::ChatTemplate::MessageIds& part, Speaker speaker,
                                                 std::string_view text) {
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
  return tokens;
}

// What stands before the first message, unless a system message does.
Steps<> Session::begin_conversation() {
  const io::ChatTemplate& chat = *engine_->chat_template();
  const bool has_system = std::any_of(window_.begin(), window_.end(), [&](const WindowToken& t) {
    return record_.source(t.source).speaker == Speaker::system;
  });
  if (turns_ > 0 || has_system) co_return;
  const std::vector<io::TokenId> start =
      engine_->has_memory() ? chat.default_system() : chat.start_with_system();
  if (start.empty()) co_return;
  const std::int64_t source = record_.add_source({"conversation", Speaker::system, ""});
  co_await append_prompt(tokens_of(start, source));
}

Steps<Answer> Session::turn(std::string_view message, const GenerateOptions& options,
                            const TurnTaken* replayed) {
  if (!engine_->chat_template())
    fail(ErrorCode::unsupported, "this model's files name no chat template; use plain generation");
  const io::ChatTemplate& chat = *engine_->chat_template();
  const Stopping stopping{OnStop::fail, options.cancel.flag};
  co_await begin_conversation();
  const io::ChatTemplate::MessageIds part = chat.message(io::Role::user, message);
  co_await append_prompt(message_tokens(part, Speaker::user, message), stopping);
  // The newest message asks, without its template's tokens.
  const auto from_end_begin = static_cast<std::int64_t>(part.ids.size() - part.text_begin);
  const auto from_end_end = static_cast<std::int64_t>(part.ids.size() - part.text_end);
  const std::int64_t source = record_.add_source({"conversation", Speaker::assistant, ""});
  std::vector<WindowToken> open = tokens_of(chat.open_assistant(), source);
  const auto opening = static_cast<std::int64_t>(open.size());
  co_await append_prompt(std::move(open), stopping);
  const std::int64_t message_end = window_size() - opening;
  const GenerateOptions asks = asking(options, message);
  const Answering::Place place{std::max<std::int64_t>(0, message_end - from_end_begin),
                               message_end - from_end_end, source, message};
  Answering answering(*this, asks, place, replayed);
  Answer answer = co_await answering.run();
  co_await close_answer(answer, source, opening);
  ++turns_;
  co_return answer;
}

Steps<> Session::close_answer(const Answer& answer, std::int64_t source, std::int64_t opening) {
  record_.replace_source(source, {"conversation", Speaker::assistant, answer.text});
  for (WindowToken& t : window_)
    if (t.source == source) t.byte_end = std::min(t.byte_end, static_cast<std::int64_t>(answer.text.size()));
  std::vector<WindowToken> close = tokens_of(engine_->chat_template()->close_assistant(), source);
  std::int64_t index = opening + static_cast<std::int64_t>(answer.tokens.size());
  for (WindowToken& t : close) {
    t.index = index++;
    t.byte_begin = t.byte_end = static_cast<std::int64_t>(answer.text.size());
  }
  co_await append_prompt(std::move(close));
}

std::vector<std::int64_t> Session::insert_reread(std::int64_t at, std::span<const std::int64_t> best_first,
                                                 std::int64_t n, std::int64_t answer_tokens) {
  const std::int64_t W = window_tokens();
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
  if (at < rows_.size()) rows_.erase(at, count);  // or it was not read
}

}  // namespace mplus::engine
