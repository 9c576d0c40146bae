#include "mplus/serve/api/completion.h"

#include <fmt/core.h>

#include "mplus/core/text.h"
#include "mplus/serve/api/history.h"
#include "mplus/store/stored_steps.h"

namespace mplus::serve {

std::string CompletionRequest::system() const {
  std::string all;
  for (const Message& message : messages)
    if (message.role == io::Role::system) all += (all.empty() ? "" : "\n\n") + message.text;
  return all;
}

std::string content_text(Fields& fields, const std::string& name) {
  const Json* content = fields.any(name);
  if (!content) return "";
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) fields.refuse(name, "expected a string or a list of parts");
  std::string text;
  for (const Json& part : *content) {
    Fields inner(part, fields.label(name));
    const std::string type = inner.string("type").value_or("text");
    if (type != "text" && type != "input_text" && type != "output_text")
      throw ApiError{
          400, "unsupported_value",
          fmt::format("{}: parts of type {:?} are not supported, only text", fields.label(name), type),
          fields.label(name)};
    text += inner.required_string("text");
  }
  return text;
}

std::vector<Message> messages_of(Fields& fields, const std::string& name) {
  const Json* list = fields.any(name);
  if (!list || !list->is_array() || list->empty()) fields.refuse(name, "expected a list of messages");
  std::vector<Message> messages;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Fields inner((*list)[i], fmt::format("{}[{}]", name, i));
    inner.only("type", "message");  // of a response's input
    const std::string role = inner.required_string("role");
    Message message;
    if (role == "system" || role == "developer") {
      message.role = io::Role::system;
    } else if (role == "assistant") {
      message.role = io::Role::assistant;
    } else if (role != "user") {
      inner.refuse("role", "expected system, developer, user or assistant");
    }
    message.text = content_text(inner, "content");
    inner.only("tool_calls", Json::array());
    inner.only("refusal", "");
    inner.ignore(
        {"name", "id", "status", "phase", "annotations", "reasoning_content", "function_call", "audio"});
    inner.end();
    messages.push_back(std::move(message));
  }
  if (messages.back().role != io::Role::user)
    fields.refuse(name, "the last message must be the user's: it is what is answered");
  return messages;
}

namespace {

// The whole conversation as one prompt: of a request without a memory.
std::vector<io::TokenId> prompt_of(const Services& services, const CompletionRequest& request) {
  if (!request.chat) return request.prompt;
  const auto& chat = services.engine.chat_template();
  if (!chat)
    throw ApiError{400, "unsupported",
                   "this model's files name no chat template; /v1/completions needs none"};
  const auto start = chat->conversation_start();
  std::vector<io::TokenId> ids(start.begin(), start.end());
  const auto add = [&](const std::vector<io::TokenId>& more) {
    ids.insert(ids.end(), more.begin(), more.end());
  };
  if (request.messages.front().role != io::Role::system) add(chat->default_system());
  for (const Message& message : request.messages) add(chat->message(message.role, message.text).ids);
  add(chat->open_assistant());
  return ids;
}

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

// Answers of the model to one prompt, beside a memory or without one. Nothing is kept.
engine::Steps<> answer_prompt(Job& job, Call& call, const CompletionRequest& request,
                              const engine::Session& session, engine::GenerateOptions options,
                              ReplyForm& reply, engine::Answer& last,
                              const std::vector<io::TokenId>& prompt) {
  options.on_text = [&](std::string_view piece) { return reply.text(piece); };
  for (std::int64_t n = 0; n < request.answers; ++n) {
    engine::Generation generation = engine::Generation::generate_ids(session, prompt, options);
    co_await answer_of(job, *call.exchange, generation);
    last = generation.answer();
    reply.end_answer(last);
    ++options.sampling.seed;
  }
}

class MemoryChat {
 public:
  MemoryChat(Services& services, Job& job, Call& call, const CompletionRequest& request, ReplyForm& reply)
      : services_(services), job_(job), call_(call), request_(request), reply_(reply) {}

  engine::Steps<> run() {
    const bool writes = request_.memory.mode == MemoryMode::write;
    const std::string& name = request_.memory.name;
    const bool known = services_.store.find(call_.caller.stored(name)).has_value();
    if (writes && !known) store::check_name(name);
    memory_ = services_.memories.open(call_.caller.stored(name), name, writes && request_.memory.create);
    created_ = !known;
    if (!writes) co_return co_await read();
    co_await job_.until(
        [&] { return Using::possible(*memory_, Using::How::change) || call_.exchange->gone(); });
    if (call_.exchange->gone()) co_return;
    const Using changing(memory_, Using::How::change);
    plan_ = plan();
    if (plan_.action == HistoryAction::aside) {
      reply_without_memory_ = true;
      co_return;
    }
    co_await take_turn();
  }
  bool wants_answer_without_memory() const { return reply_without_memory_; }

 private:
  const std::string& newest() const { return request_.messages.back().text; }
  HistoryPlan plan() const {
    const std::vector<SaidTurn> before = turns_before(request_.messages);
    if (!request_.sends_history) return {HistoryAction::continued, 0, before};
    return plan_history(turns_of(memory_->session.session().record()), before, newest());
  }

  engine::GenerateOptions options() {
    engine::GenerateOptions options = request_.options;
    options.on_text = [this](std::string_view piece) { return reply_.text(piece); };
    if (services_.engine.has_memory()) memory_->session.serve_words(options);
    return options;
  }

  engine::Steps<> take_turn() {
    store::StoredSession& session = memory_->session;
    if (plan_.action == HistoryAction::branched) {
      const std::int64_t later = events_after_turn(session, plan_.keep);
      if (later > 0) {
        co_await job_.until([&] { return memory_->readers == 0; });
        session.undo(later);
        undone_ = later;
      }
    }
    const std::string system = request_.system();
    if (!system.empty() && session.session().record().sources() == 0) session.set_system_message(system);
    if (!plan_.unknown.empty()) {
      store::StoredIngestion earlier(session, "earlier messages", as_document(plan_.unknown), {},
                                     call_.exchange->gone_token());
      co_await work_of(earlier);
    }
    store::StoredTurn turn(session, newest(), options());
    co_await answer_of(job_, *call_.exchange, turn);
    const engine::Answer answer = turn.answer();
    session.note_recall(answer);
    reply_.end_answer(answer);
    reply_.end(memory_json(answer, session.session(), "write"));
  }

  // The turn is made on a copy that nobody keeps.
  engine::Steps<> read() {
    const Using reading(memory_, Using::How::read);
    engine::Session copy = memory_->session.session().fork();
    engine::Answer answer;
    if (request_.chat) {
      for (std::int64_t n = 0; n < request_.answers; ++n) {
        engine::Session own = copy.fork();
        engine::GenerateOptions how = options();
        how.sampling.seed += static_cast<std::uint64_t>(n);
        engine::Generation generation = engine::Generation::say(own, newest(), how);
        co_await answer_of(job_, *call_.exchange, generation);
        answer = generation.answer();
        reply_.end_answer(answer);
      }
    } else {
      engine::GenerateOptions how = options();
      if (how.words && !request_.prompt_text.empty()) how.prior = how.words(request_.prompt_text);
      how.words = nullptr;
      co_await answer_prompt(job_, call_, request_, copy, how, reply_, answer, request_.prompt);
    }
    memory_->session.note_recall(answer);
    reply_.end(memory_json(answer, copy, "read"));
  }

  Json memory_json(const engine::Answer& answer, const engine::Session& session, const char* mode) const {
    Json json{{"name", request_.memory.name},
              {"mode", mode},
              {"action", std::string_view(mode) == "write" ? history_action_name(plan_.action) : "read"},
              {"created", created_},
              {"event", memory_->session.journal().last_number()},
              {"undone", undone_},
              {"recall", recall_rule_name(answer.recall)}};
    if (request_.memory.passages)
      json["passages"] = passages_json(answer.why, session.record(), &memory_->session);
    json["seen"] = seen_json(answer, session);
    return json;
  }

  Services& services_;
  Job& job_;
  Call& call_;
  const CompletionRequest& request_;
  ReplyForm& reply_;
  std::shared_ptr<OpenMemory> memory_;
  HistoryPlan plan_;
  std::int64_t undone_ = 0;
  bool created_ = false, reply_without_memory_ = false;
};

}  // namespace

engine::Steps<> complete(Services& services, Job& job, Call& call, CompletionRequest& request,
                         ReplyForm& reply) {
  Json memory;
  if (request.memory.mode != MemoryMode::off) {
    MemoryChat chat(services, job, call, request, reply);
    co_await chat.run();
    if (!chat.wants_answer_without_memory()) co_return;
    memory = {{"name", request.memory.name},
              {"mode", "off"},
              {"action", history_action_name(HistoryAction::aside)}};
    request.options.why = false;
  }
  const std::vector<io::TokenId> prompt = prompt_of(services, request);
  // What fits is read by the base model as it was made; more than that, through a memory of this request's
  // own.
  request.options.plain = std::ssize(prompt) + request.options.max_tokens <= services.engine.window_tokens();
  const engine::Session session(services.engine);
  engine::Answer last;
  co_await answer_prompt(job, call, request, session, request.options, reply, last, prompt);
  reply.end(std::move(memory));
}

}  // namespace mplus::serve
