#include "mplus/serve/api/answer/completion.h"

#include <fmt/core.h>

#include "mplus/engine/generation.h"
#include "mplus/serve/api/answer/memory_chat.h"

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

}  // namespace

engine::Steps<engine::Answer> answer_prompt(Job& job, Call& call, const CompletionRequest& request,
                                            const engine::Session& session, engine::GenerateOptions options,
                                            ReplyForm& reply) {
  engine::Answer last;
  options.on_text = [&](std::string_view piece) { return reply.text(piece); };
  for (std::int64_t n = 0; n < request.answers; ++n) {
    engine::Generation generation = engine::Generation::generate_ids(session, request.prompt, options);
    co_await answer_of(job, *call.exchange, generation);
    last = generation.answer();
    reply.end_answer(last);
    ++options.sampling.seed;
  }
  co_return last;
}

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
  request.prompt = prompt_of(services, request);
  // What fits is read by the base model as it was made; more than that, through a memory of this request's
  // own.
  request.options.plain =
      std::ssize(request.prompt) + request.options.max_tokens <= services.engine.window_tokens();
  const engine::Session session(services.engine);
  co_await answer_prompt(job, call, request, session, request.options, reply);
  reply.end(std::move(memory));
}

}  // namespace mplus::serve
