// Chat and plain completions, as OpenAI has them, with a memory behind them if one is named.
#include <fmt/core.h>

#include "mplus/core/clock.h"
#include "mplus/serve/api/answer/completion.h"
#include "mplus/serve/api/router.h"

namespace mplus::serve {
namespace {

CompletionRequest chat_request(const Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  CompletionRequest request{generate_request(services, call, fields), messages_of(fields, "messages")};
  if (fields.boolean("logprobs").value_or(false))
    request.options.chances = static_cast<std::size_t>(fields.integer("top_logprobs", 0, 20).value_or(0));
  fields.ignore({"top_logprobs"});
  fields.only("tools", Json::array());
  fields.only("functions", Json::array());
  if (const Json* choice = fields.any("tool_choice"); choice && *choice != "none" && *choice != "auto")
    fields.refuse("tool_choice", "tools are not supported");
  fields.ignore({"parallel_tool_calls", "tool_ids"});
  fields.only("modalities", Json::array({"text"}));
  if (const Json* format = fields.any("response_format"))
    read_format(*format, "response_format", request.options);
  fields.end();
  return request;
}

CompletionRequest completion_request(const Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  CompletionRequest request{generate_request(services, call, fields)};
  request.chat = false;
  const Json* prompt = fields.any("prompt");
  if (!prompt) fields.refuse("prompt", "is missing");
  const Json& one =
      prompt->is_array() && prompt->size() == 1 && !(*prompt)[0].is_number() ? (*prompt)[0] : *prompt;
  if (one.is_string()) {
    request.prompt_text = one.get<std::string>();
    request.prompt = services.engine.tokenizer().encode(request.prompt_text);
  } else if (one.is_array()) {
    const std::int64_t vocab = services.engine.weights().config.vocab;
    for (const Json& id : one) {
      if (!id.is_number_integer()) fields.refuse("prompt", "expected one text, or one list of token ids");
      if (id.get<std::int64_t>() < 0 || id.get<std::int64_t>() >= vocab)
        fields.refuse("prompt", fmt::format("expected ids from 0 to {}", vocab - 1));
      request.prompt.push_back(id.get<io::TokenId>());
    }
  } else {
    fields.refuse("prompt", "expected one text, or one list of token ids");
  }
  if (request.prompt.empty()) fields.refuse("prompt", "is empty");
  if (const auto best = fields.integer("logprobs", 0, 20))
    request.options.chances = static_cast<std::size_t>(*best);
  if (request.memory.mode == MemoryMode::write) request.memory.mode = MemoryMode::read;  // it is no turn
  fields.only("echo", false);
  fields.only("suffix", "");
  fields.only("best_of", 1);
  fields.end();
  return request;
}

// One reply on its way: whole, or chunk by chunk.
class ChatReply final : public ReplyForm {
 public:
  ChatReply(Services& services, Call& call, const CompletionRequest& request)
      : services_(services),
        call_(call),
        request_(request),
        id_(fmt::format("{}-{}", request.chat ? "chatcmpl" : "cmpl", call.request().id)),
        created_(seconds_now()) {}

  // For GenerateOptions::on_text of the answer that is made now.
  bool text(std::string_view piece) override {
    services_.metrics.note_piece(call_.began, last_piece_);
    text_ += piece;
    if (request_.stream) chunk(delta(piece), Json());
    return true;
  }

  void end_answer(const engine::Answer& answer) override {
    prompt_tokens_ += answer.prompt_tokens;
    answer_tokens_ += std::ssize(answer.tokens);
    Json choice = choice_head();
    const Json chances = request_.options.chances ? chances_json(answer) : Json();
    if (request_.stream) {
      chunk(delta(""), finish_reason(answer.reason), chances);
    } else {
      if (request_.chat) {
        choice["message"] = {{"role", "assistant"}, {"content", text_}, {"refusal", nullptr}};
      } else {
        choice["text"] = text_;
      }
      choice["logprobs"] = chances;
      choice["finish_reason"] = finish_reason(answer.reason);
      choices_.push_back(std::move(choice));
    }
    text_.clear();
    ++index_;
    opened_ = false;
  }

  void end(Json memory) override {
    services_.metrics.note_answer(prompt_tokens_, answer_tokens_, call_.began);
    const Json usage = usage_json(prompt_tokens_, answer_tokens_);
    if (!request_.stream) {
      Json json = head("");
      json["choices"] = choices_;
      json["usage"] = usage;
      if (!memory.is_null()) json["memory"] = std::move(memory);
      return call_.exchange->reply(json_reply(json));
    }
    if (request_.usage_in_stream || !memory.is_null()) {
      Json json = head(".chunk");
      json["choices"] = Json::array();
      if (request_.usage_in_stream) json["usage"] = usage;
      if (!memory.is_null()) json["memory"] = std::move(memory);
      put(json);
    }
    call_.exchange->write("data: [DONE]\n\n");
    call_.exchange->end();
  }

 private:
  Json head(const char* suffix) const {
    return {{"id", id_},
            {"object", request_.chat ? fmt::format("chat.completion{}", suffix) : "text_completion"},
            {"created", created_},
            {"model", request_.model},
            {"system_fingerprint", services_.options.version}};
  }
  Json choice_head() const { return {{"index", index_}}; }

  Json delta(std::string_view piece) {
    if (!request_.chat) return std::string(piece);
    Json json = Json::object();
    if (!std::exchange(opened_, true)) json["role"] = "assistant";
    if (!piece.empty() || !json.empty()) json["content"] = std::string(piece);
    return json;
  }

  void chunk(Json what, const Json& finish, const Json& chances = nullptr) {
    Json choice = choice_head();
    choice[request_.chat ? "delta" : "text"] = std::move(what);
    choice["logprobs"] = chances;
    choice["finish_reason"] = finish;
    Json json = head(".chunk");
    json["choices"] = Json::array({std::move(choice)});
    if (request_.usage_in_stream) json["usage"] = nullptr;
    put(json);
  }
  void put(const Json& json) {
    call_.exchange->begin_stream("text/event-stream; charset=utf-8");
    call_.exchange->write(sse("", json));
  }

  std::string token_text(io::TokenId id) const {
    return std::string(services_.engine.tokenizer().token_bytes(id));
  }
  Json chance_json(const engine::TokenChance& chance) const {
    const std::string bytes = token_text(chance.id);
    return {{"token", bytes},
            {"logprob", chance.log_probability},
            {"bytes", std::vector<unsigned char>(bytes.begin(), bytes.end())}};
  }
  Json chances_json(const engine::Answer& answer) const {
    if (!request_.chat) return plain_chances_json(answer);
    Json content = Json::array();
    for (const engine::TokenChances& token : answer.chances) {
      Json json = chance_json(token);
      json["top_logprobs"] = Json::array();
      for (const engine::TokenChance& other : token.best) json["top_logprobs"].push_back(chance_json(other));
      content.push_back(std::move(json));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }
  Json plain_chances_json(const engine::Answer& answer) const {
    Json json{{"tokens", Json::array()},
              {"token_logprobs", Json::array()},
              {"top_logprobs", Json::array()},
              {"text_offset", Json::array()}};
    std::size_t offset = 0;
    for (const engine::TokenChances& token : answer.chances) {
      Json best = Json::object();
      for (const engine::TokenChance& other : token.best) best[token_text(other.id)] = other.log_probability;
      const std::string text = token_text(token.id);
      json["tokens"].push_back(text);
      json["token_logprobs"].push_back(token.log_probability);
      json["top_logprobs"].push_back(std::move(best));
      json["text_offset"].push_back(offset);
      offset += text.size();
    }
    return json;
  }

  Services& services_;
  Call& call_;
  const CompletionRequest& request_;
  std::string id_;
  std::int64_t created_;
  std::string text_;
  Json choices_ = Json::array();
  std::int64_t index_ = 0, prompt_tokens_ = 0, answer_tokens_ = 0;
  bool opened_ = false;
  std::optional<Clock::time_point> last_piece_;
};

engine::Steps<> answer(Services& services, Job& job, Call& call, CompletionRequest request) {
  ChatReply reply(services, call, request);
  co_await complete(services, job, call, request, reply);
}

void add(Router& router, Services& services, const char* path,
         CompletionRequest (*parse)(const Services&, const Call&)) {
  router.add(
      "POST", path,
      [&services, parse](Call call) {
        CompletionRequest request = parse(services, call);
        services.as_job(std::move(call), [&services, request = std::move(request)](Job& job, Call& own) {
          return answer(services, job, own, request);
        });
      },
      Right::read);
}

}  // namespace

void add_chat_routes(Router& router, Services& services) {
  add(router, services, "/v1/chat/completions",
      chat_request);  // a turn that is kept needs the right to write
  add(router, services, "/v1/completions", completion_request);
}

}  // namespace mplus::serve
