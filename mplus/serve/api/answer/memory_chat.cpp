#include "mplus/serve/api/answer/memory_chat.h"

#include "mplus/core/text.h"
#include "mplus/engine/ingestion.h"
#include "mplus/serve/api/idempotency.h"
#include "mplus/store/session/stored_steps.h"

namespace mplus::serve {
namespace {

constexpr const char* kEarlier = "earlier messages";

std::vector<SaidTurn> turns_before(const std::vector<Message>& messages) {
  std::vector<SaidTurn> turns;
  for (std::size_t i = 0; i + 1 < messages.size(); ++i) {
    const std::string text(trim(messages[i].text));
    if (messages[i].role == io::Role::user) turns.push_back({text, ""});
    if (messages[i].role != io::Role::assistant) continue;
    if (turns.empty() || !turns.back().answer.empty()) turns.push_back({"", ""});
    turns.back().answer = text;
  }
  return turns;
}

std::string as_document(const std::vector<SaidTurn>& turns) {
  std::string text;
  for (const SaidTurn& turn : turns) {
    if (!turn.message.empty()) text += "User: " + turn.message + "\n";
    if (!turn.answer.empty()) text += "Assistant: " + turn.answer + "\n";
  }
  return text;
}

}  // namespace

engine::Steps<> MemoryChat::run() {
  const bool writes = request_.memory.mode == MemoryMode::write;
  const std::string& name = request_.memory.name;
  const bool known = services_.store.find(call_.caller.stored(name)).has_value();
  if (writes && !known) store::check_name(name);
  memory_ = co_await services_.memories.open(job_, call_.caller.stored(name), name,
                                             writes && request_.memory.create);
  created_ = !known;
  const auto how = writes ? Using::How::change : Using::How::read;
  co_await job_.until([&] { return Using::possible(*memory_, how) || call_.exchange->gone(); });
  if (call_.exchange->gone()) co_return;
  if (!writes) co_return co_await read();
  const Using changing(memory_, Using::How::change);
  if (answer_again(request_name(call_))) co_return;
  plan_ = plan();
  if (plan_.action == HistoryAction::aside) {
    reply_without_memory_ = true;
    co_return;
  }
  co_await take_turn();
}

HistoryPlan MemoryChat::plan() const {
  const std::vector<SaidTurn> before = turns_before(request_.messages);
  if (!request_.sends_history) return {HistoryAction::continued, 0, before};
  return plan_history(turns_of(memory_->session.session().record()), before, newest(), request_.memory.whole);
}

engine::GenerateOptions MemoryChat::options() {
  engine::GenerateOptions options = request_.options;
  options.on_text = [this](std::string_view piece) { return reply_.text(piece); };
  if (services_.engine.has_memory()) memory_->session.serve_words(options);
  return options;
}

bool MemoryChat::takes_system() {
  const std::string system = request_.system();
  if (system.empty()) return false;
  const engine::Session& session = memory_->session.session();
  for (std::int64_t i = 0; i < session.record().sources(); ++i) {
    const engine::Source& source = session.record().source(i);
    if (source.speaker == engine::Speaker::system && source.text == system) system_ = "known";
  }
  if (!system_) system_ = session.turns() == 0 ? "taken" : "ignored";
  return std::string_view(system_) == "taken";
}

bool MemoryChat::answer_again(const std::string& request_name) {
  if (request_name.empty()) return false;
  const auto event = store::turn_of_request(memory_->session, request_name);
  if (!event || !event->source || !event->answer) return false;
  const store::StoredSource text = memory_->session.journal().source(*event->answer);
  if (text.lost()) return false;
  call_.exchange->extra_headers.emplace_back("Idempotent-Replayed", "true");
  engine::Answer answer;
  answer.text = text.text;
  answer.tokens = event->answer_ids;
  answer.reason = engine::StopReason::end_of_text;
  reply_.text(answer.text);
  reply_.end_answer(answer);
  reply_.end({{"name", request_.memory.name},
              {"mode", "write"},
              {"action", history_action_name(HistoryAction::continued)},
              {"created", false},
              {"event", event->number}});
  return true;
}

engine::Steps<> MemoryChat::take_turn() {
  store::StoredSession& session = memory_->session;
  if (plan_.action == HistoryAction::branched) {
    const std::int64_t later = events_after_turn(session, plan_.keep);
    if (later > 0) {
      co_await job_.until([&] { return memory_->readers == 0; });
      memory_->remade = true;
      co_await session.undo_steps(later);
      memory_->remade = false;  // where it fails, the change's end does that
      undone_ = later;
    }
  }
  if (takes_system()) session.set_system_message(request_.system());
  if (!plan_.unknown.empty()) {
    store::StoredIngestion earlier(session, kEarlier, as_document(plan_.unknown), {},
                                   call_.exchange->gone_token());
    co_await work_of(earlier);
  }
  store::StoredTurn turn(session, newest(), options());
  co_await answer_of(job_, *call_.exchange, turn);
  if (const std::string request = request_name(call_); !request.empty()) turn.note_request(request);
  const engine::Answer answer = turn.answer();
  session.note_recall(answer);
  reply_.end_answer(answer);
  reply_.end(memory_json(answer, session.session(), "write", std::ssize(session.session().window())));
}

// All of it on a copy that nobody keeps.
engine::Steps<> MemoryChat::read() {
  const Using reading(memory_, Using::How::read);
  if (request_.chat) plan_ = plan();
  if (plan_.action == HistoryAction::aside) {
    reply_without_memory_ = true;
    co_return;
  }
  engine::Session copy = memory_->session.session().fork();
  if (takes_system()) copy.set_system_message(request_.system());
  if (!plan_.unknown.empty()) {
    const std::string text = as_document(plan_.unknown);
    engine::Ingestion earlier(copy, {.source = kEarlier, .text = text}, {}, call_.exchange->gone_token());
    co_await work_of(earlier);
  }
  engine::Answer answer;
  const std::int64_t before = read_before(copy);
  co_await answer_on(copy, answer);
  memory_->session.note_recall(answer);
  reply_.end(memory_json(answer, copy, "read", before + answer.prompt_tokens + std::ssize(answer.tokens)));
}

engine::Steps<> MemoryChat::answer_on(engine::Session& copy, engine::Answer& answer) {
  if (!request_.chat) {
    engine::GenerateOptions how = options();
    if (how.words && !request_.prompt_text.empty()) how.prior = how.words(request_.prompt_text);
    how.words = nullptr;
    answer = co_await answer_prompt(job_, call_, request_, copy, how, reply_);
    co_return;
  }
  for (std::int64_t n = 0; n < request_.answers; ++n) {
    engine::Session own = copy.fork();
    engine::GenerateOptions how = options();
    how.sampling.seed += static_cast<std::uint64_t>(n);
    engine::Generation generation = engine::Generation::say(own, newest(), how);
    co_await answer_of(job_, *call_.exchange, generation);
    answer = generation.answer();
    reply_.end_answer(answer);
  }
}

Json MemoryChat::memory_json(const engine::Answer& answer, const engine::Session& session, const char* mode,
                             std::int64_t window) const {
  const bool plain_read = std::string_view(mode) == "read" && plan_.action == HistoryAction::continued;
  Json json{{"name", request_.memory.name},
            {"mode", mode},
            {"action", plain_read ? "read" : history_action_name(plan_.action)},
            {"created", created_},
            {"event", memory_->session.journal().last_number()},
            {"undone", undone_},
            {"recall", recall_rule_name(answer.recall)}};
  if (system_) json["system"] = system_;
  if (request_.memory.passages)
    json["passages"] = passages_json(answer, answer.why.size(), session.record(), &memory_->session);
  json["seen"] = seen_json(answer, session, window);
  return json;
}

}  // namespace mplus::serve
