#include "mplus/engine/generation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/engine/answer/answering.h"
#include "mplus/io/text/question_prompt.h"

namespace mplus::engine {

struct Generation::State {
  State(const Session& of, std::string_view asked, GenerateOptions how)
      : session(of), text(asked), options(std::move(how)) {}

  const Session& session;
  Session* changed = nullptr;    // the same, where the answer becomes a turn of it
  std::string text;              // question, prompt or message
  std::string question;          // as it was asked, where the prompt holds it
  std::vector<io::TokenId> ids;  // a prompt without a text
  GenerateOptions options;
  const TurnTaken* replayed = nullptr;
  EventSink told;                  // of the turn
  std::optional<Session> working;  // its copy
  std::optional<StepsUnderWay<Answer>> steps;
  std::optional<Answer> answer;
};

namespace {

// The options with the prior that the text's own words give.
GenerateOptions with_words(GenerateOptions options, std::string_view text) {
  if (!options.prior && options.words) options.prior = options.words(text);
  return options;
}

void tell_turn(const EventSink& told, std::string_view message, const Answer& answer,
               const GenerateOptions& options) {
  std::string_view rule = options.recall_strategy ? "" : recall_rule_name(answer.recall);
  if (answer.by_base) rule = kByBase;
  std::vector<std::vector<std::int64_t>> births = answer.recalled_births;
  births.insert(births.end(), answer.seen_births.begin(), answer.seen_births.end());
  told(TurnTaken{.message = message,
                 .answer = answer.text,
                 .answer_ids = answer.tokens,
                 .answer_read = answer.read_tokens,
                 .recall = rule,
                 .recalled_births = births,
                 .reread = answer.reread});
}

Answer stopped_before_it_began() {
  Answer none;
  none.reason = StopReason::cancelled;
  return none;
}

// An answer that was stopped before it began is no failure.
template <class Doing>
void unless_stopped(std::optional<Answer>& answer, Doing&& doing) {
  try {
    doing();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
    answer = stopped_before_it_began();
  }
}

}  // namespace

Generation::Generation(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Generation::Generation(Generation&& other) noexcept = default;
Generation::~Generation() = default;

Generation Generation::ask(const Session& session, std::string_view question, GenerateOptions options) {
  auto state = std::make_unique<State>(session, question, std::move(options));
  state->steps.emplace(run_ask(*state));
  return Generation(std::move(state));
}

Generation Generation::generate(const Session& session, std::string_view prompt, GenerateOptions options) {
  auto state = std::make_unique<State>(session, prompt, std::move(options));
  state->steps.emplace(run_text(*state));
  return Generation(std::move(state));
}

Generation Generation::generate_ids(const Session& session, std::span<const io::TokenId> prompt,
                                    GenerateOptions options) {
  auto state = std::make_unique<State>(session, "", std::move(options));
  state->ids.assign(prompt.begin(), prompt.end());
  state->steps.emplace(run_ids(*state));
  return Generation(std::move(state));
}

Generation Generation::say(Session& session, std::string_view message, GenerateOptions options,
                           EventSink told) {
  auto state = std::make_unique<State>(session, message, std::move(options));
  state->changed = &session;
  state->told = std::move(told);
  state->steps.emplace(run_turn(*state));
  return Generation(std::move(state));
}

Generation Generation::replay(Session& session, const TurnTaken& replayed, GenerateOptions options,
                              EventSink told) {
  Generation generation = say(session, replayed.message, std::move(options), std::move(told));
  generation.state_->replayed = &replayed;
  return generation;
}

Work* Generation::next_work() {
  State& state = *state_;
  if (!state.answer && state.options.cancel.reached()) stop();
  Work* work = nullptr;
  if (!state.answer) unless_stopped(state.answer, [&] { work = state.steps->next_work(); });
  return work;
}

void Generation::take(WorkResult result) {
  unless_stopped(state_->answer, [&] { state_->steps->take(std::move(result)); });
}

void Generation::stop() {
  State& state = *state_;
  if (state.answer) return;
  if (!state.steps->begun()) state.answer = stopped_before_it_began();
  if (!state.answer) unless_stopped(state.answer, [&] { state.steps->stop(); });
}

Answer Generation::answer() { return state_->answer ? std::move(*state_->answer) : state_->steps->result(); }

// Reads on a copy, so that nothing of the session changes.
Steps<Answer> Generation::answer_prompt(State& state, std::vector<WindowToken> prompt) {
  if (prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty");
  Session& reader = state.working.emplace(state.session.fork());
  const Engine& engine = reader.engine();
  std::string text;  // of the prompt, for the record of a part that has to be written
  for (const WindowToken& t : prompt)
    if (engine.has_tokenizer()) text += engine.tokenizer().token_bytes(t.id);
  const std::int64_t source = reader.record_.add_source({"prompt", Speaker::user, std::move(text)});
  const auto n = static_cast<std::int64_t>(prompt.size());
  co_await reader.append_prompt(std::move(prompt), {OnStop::fail, state.options.cancel.flag});
  const std::int64_t end = reader.window_size();
  const Answering::Place place{std::max<std::int64_t>(0, end - n), end, source, state.question};
  Answering answering(reader, state.options, place, nullptr);
  co_return co_await answering.run();
}

Steps<Answer> Generation::run_text(State& state) {
  const Session& session = state.session;
  const Engine& engine = session.engine();
  const std::int64_t source = session.record_.sources();
  std::vector<WindowToken> prompt = session.tokens_of(state.text, source);
  // A model with memory has its own beginning in every layer; a plain one may want its tokenizer's.
  const auto bos = engine.tokenizer().bos();
  if (!engine.has_memory() && engine.weights().config.add_bos && bos)
    prompt.insert(prompt.begin(), WindowToken{.id = *bos, .source = source});
  state.options = with_words(std::move(state.options), state.text);
  co_return co_await answer_prompt(state, std::move(prompt));
}

Steps<Answer> Generation::run_ids(State& state) {
  state.session.check_ids(state.ids);
  co_return co_await answer_prompt(state, Session::tokens_of(state.ids, state.session.record_.sources()));
}

Steps<Answer> Generation::run_ask(State& state) {
  const Engine& engine = state.session.engine();
  const std::string form = engine.has_memory() && !state.options.plain ? engine.weights().memory->prompt : "";
  if (form.empty()) {
    if (engine.chat_template()) co_return co_await run_turn(state);
    co_return co_await run_text(state);
  }
  state.options = state.session.asking(state.options, state.text);
  const std::string& stop = engine.weights().memory->stop;
  if (!stop.empty()) state.options.stop.push_back(stop);
  state.question = std::exchange(state.text, io::question_prompt(form, state.text));
  co_return co_await run_text(state);
}

Steps<Answer> Generation::run_turn(State& state) {
  std::optional<Session::Change> change;
  if (state.changed) change.emplace(*state.changed);
  Session& working = state.working.emplace(state.session.fork());
  Answer answer = co_await working.turn(state.text, state.options, state.replayed);
  if (state.changed) {
    state.changed->become(std::move(working));
    if (state.told) tell_turn(state.told, state.text, answer, state.options);
  }
  co_return answer;
}

GenerateOptions Session::asking(const GenerateOptions& options, std::string_view question) const {
  GenerateOptions asks = with_words(options, question);
  // And where the model says so, read over what the question recalls.
  asks.recall.read_over = resolved(engine_->recall_policy(), asks.recall).read_over;
  return asks;
}

}  // namespace mplus::engine
