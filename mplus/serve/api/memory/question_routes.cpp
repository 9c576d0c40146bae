// A memory asked and searched.
#include <fmt/core.h>

#include "mplus/core/text.h"
#include "mplus/engine/generation.h"
#include "mplus/serve/api/answer/generate_request.h"
#include "mplus/serve/api/memory/memory_use.h"

namespace mplus::serve {
namespace {

struct Question {
  std::string text;
  engine::GenerateOptions options;
  bool stream = false, with_memory = true, search = false;
  std::size_t limit = 8;
};

Question question_of(const Call& call, bool search) {
  const Json body = call.body();
  Fields fields(body);
  Question question;
  question.search = search;
  question.text = fields.required_string(search ? "query" : "question");
  if (question.text.find_first_not_of(" \t\r\n") == std::string::npos)
    fields.refuse(search ? "query" : "question", "is empty");
  question.options.cancel = call.exchange->gone_token();
  question.options.why = true;
  if (search) {
    question.limit = static_cast<std::size_t>(fields.integer("limit", 1, 64).value_or(8));
    question.options.max_tokens = 0;
  } else {
    question.options.max_tokens = fields.integer("max_tokens", 1, 4096).value_or(64);
    question.options.reread = fields.integer("reread", 0, 16).value_or(0);
    question.stream = fields.boolean("stream").value_or(false);
    question.with_memory = fields.boolean("memory").value_or(true);
  }
  fields.end();
  return question;
}

Json answer_json(const engine::Answer& answer, const engine::Session& session, const OpenMemory* memory,
                 const Question& question, const std::string& name) {
  const std::int64_t before = memory ? read_before(session) : 0;
  Json seen = seen_json(answer, session, before + answer.prompt_tokens + std::ssize(answer.tokens));
  const std::size_t most = question.search ? question.limit : answer.why.size();
  Json passages = memory ? passages_json(answer, most, session.record(), &memory->session) : Json::array();
  if (question.search) return {{"object", "list"}, {"data", std::move(passages)}, {"seen", std::move(seen)}};
  return {{"answer", std::string(trim(answer.text))},
          {"reason", engine::stop_reason_name(answer.reason)},
          {"usage", usage_json(answer.prompt_tokens, std::ssize(answer.tokens))},
          {"memory", memory ? Json{{"name", name},
                                   {"mode", "read"},
                                   {"recall", recall_rule_name(answer.recall)},
                                   {"passages", std::move(passages)},
                                   {"seen", std::move(seen)}}
                            : Json()}};
}

engine::Steps<> ask(Services& services, Job& job, Call& call, Question question) {
  const auto memory = co_await opened(services, job, call, Using::How::read);
  if (!memory) co_return;
  const Using reading(memory, Using::How::read);
  const engine::Session session =
      question.with_memory ? memory->session.session().fork() : engine::Session(services.engine);
  if (question.with_memory) memory->session.serve_words(question.options);
  question.options.plain = !question.with_memory;
  if (question.stream)
    question.options.on_text = [&](std::string_view piece) {
      call.exchange->begin_stream("text/event-stream; charset=utf-8");
      call.exchange->write(sse("text", {{"text", std::string(piece)}}));
      return true;
    };
  engine::Generation generation = engine::Generation::ask(session, question.text, question.options);
  co_await answer_of(job, *call.exchange, generation);
  const engine::Answer answer = generation.answer();
  if (question.with_memory && !question.search) memory->session.note_recall(answer);
  const Json json =
      answer_json(answer, session, question.with_memory ? memory.get() : nullptr, question, call.names[0]);
  if (!question.stream) co_return call.exchange->reply(json_reply(json));
  call.exchange->begin_stream("text/event-stream; charset=utf-8");
  call.exchange->write(sse("done", json));
  call.exchange->end();
}

void add_question(Router& router, Services& services, const char* path, bool search) {
  router.add(
      "POST", path,
      [&services, search](Call call) {
        Question question = question_of(call, search);
        services.as_job(std::move(call), [&services, question = std::move(question)](Job& job, Call& own) {
          return ask(services, job, own, question);
        });
      },
      Right::read);
}

}  // namespace

void add_question_routes(Router& router, Services& services) {
  add_question(router, services, "/v1/memories/{name}/ask", false);
  add_question(router, services, "/v1/memories/{name}/search", true);
}

}  // namespace mplus::serve
