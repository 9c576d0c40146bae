// Models, tokens, and whether the server is well.
#include <fmt/core.h>

#include "mplus/core/tensors/memory_budget.h"
#include "mplus/serve/api/answer/memory_choice.h"
#include "mplus/serve/api/router.h"

namespace mplus::serve {
namespace {

Json model_json(const std::string& id, std::int64_t created) {
  return {{"id", id}, {"object", "model"}, {"created", created}, {"owned_by", "mplus"}};
}

Reply models(const Services& services, const Call& call) {
  Json data = Json::array({model_json(std::string(kModelName), 0)});
  for (const store::SessionInfo& info : services.store.list())
    if (const auto name = call.caller.shown(info.name))
      data.push_back(model_json(fmt::format("{}:{}", kModelName, *name), info.created_at / 1000));
  return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

Reply tokenize(const Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  auto text = fields.string("content");       // llama.cpp's name
  if (!text) text = fields.string("prompt");  // vLLM's
  if (!text) fields.refuse("content", "is missing");
  fields.only("add_special", false);
  fields.only("add_special_tokens", false);
  fields.ignore({"model"});
  fields.end();
  const auto ids = services.engine.tokenizer().encode(*text);
  return json_reply(
      {{"tokens", ids}, {"count", ids.size()}, {"max_model_len", services.engine.window_tokens()}});
}

Reply detokenize(const Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  const Json* tokens = fields.any("tokens");
  fields.ignore({"model"});
  fields.end();
  if (!tokens || !tokens->is_array()) fields.refuse("tokens", "expected a list of token ids");
  std::vector<io::TokenId> ids;
  const std::int64_t vocab = services.engine.weights().config.vocab;
  for (const Json& token : *tokens) {
    if (!token.is_number_integer() || token.get<std::int64_t>() < 0 || token.get<std::int64_t>() >= vocab)
      fields.refuse("tokens", fmt::format("expected ids from 0 to {}", vocab - 1));
    ids.push_back(token.get<io::TokenId>());
  }
  const std::string text = services.engine.tokenizer().decode(ids, false);
  return json_reply({{"content", text}, {"prompt", text}});
}

std::string metrics_text(Services& services) {
  const Metrics& m = services.metrics;
  std::string text;
  const auto gauge = [&](const char* name, const char* help, double value) {
    text += metric_text(name, "gauge", help, value);
  };
  const auto counter = [&](const char* name, const char* help, const std::atomic<std::uint64_t>& value) {
    text += metric_text(name, "counter", help, static_cast<double>(value.load()));
  };
  const std::size_t jobs = services.scheduler.jobs(), working = services.scheduler.working();
  gauge("num_requests_running", "Requests that had work in the last step.", static_cast<double>(working));
  gauge("num_requests_waiting", "Requests under way that had none.",
        static_cast<double>(jobs - std::min(jobs, working)));
  gauge("step_seconds", "Time of the last step.", services.scheduler.last_step_seconds());
  gauge("memories_open", "Memories that are held open.", static_cast<double>(services.memories.open_count()));
  gauge("rows_bytes", "Host memory of memories' rows, those in files aside.",
        static_cast<double>(host_budget().used() + host_budget().spare_used()));
  gauge("store_bytes", "Disk that the store takes: database, states and segments.",
        static_cast<double>(services.store.disk_bytes()));
  counter("prompt_tokens_total", "Tokens of prompts.", m.prompt_tokens);
  counter("generation_tokens_total", "Tokens generated.", m.generation_tokens);
  counter("document_tokens_total", "Tokens of documents read.", m.document_tokens);
  counter("chunks_written_total", "Chunks of documents written into memories.", m.chunks_written);
  text += m.time_to_first_token.text("time_to_first_token_seconds",
                                     "From a request to the first text of its answer.");
  text += m.inter_token_latency.text("inter_token_latency_seconds", "Between two pieces of an answer.");
  text += m.request_seconds.text("e2e_request_latency_seconds", "From a request to the end of its answer.");
  text += m.write_seconds.text("write_seconds", "Between two chunks of a document.");
  text += m.recall_seconds.text("recall_seconds", "Choosing what an answer recalls, without its scout pass.");
  text +=
      m.commit_seconds.text("commit_seconds", "A commit of the journal, with whatever waits for the disk.");
  return text + m.replies_text();
}

}  // namespace

void add_text_routes(Router& router, Services& services) {
  router.add(
      "GET", "/health",
      [](const Call& call) {
        call.exchange->reply(json_reply({{"status", "ok"}}));
      },
      std::nullopt);
  router.add("GET", "/version", [&](const Call& call) {
    call.exchange->reply(
        json_reply({{"version", services.options.version}, {"commit", services.options.commit}}));
  });
  router.add(
      "GET", "/metrics",
      [&](Call call) {
        if (!call.caller.space.empty())
          throw ApiError{403, "not_allowed",
                         "the numbers are the whole server's: for keys without a name space"};
        services.on_engine(std::move(call), [&](Call&) {
          return Reply{.body = metrics_text(services), .type = "text/plain; version=0.0.4; charset=utf-8"};
        });
      },
      Right::admin);
  router.add("GET", "/v1/models", [&](Call call) {
    services.on_engine(std::move(call), [&](Call& own) { return models(services, own); });
  });
  router.add("GET", "/v1/models/{id}", [&](Call call) {
    services.on_engine(std::move(call), [&](Call& own) {
      const std::string memory = memory_of_model(own.names[0]);
      if (!memory.empty()) {
        services.existing(own.caller, memory);
      } else if (own.names[0] != kModelName) {
        throw ApiError{404, "model_not_found", "there is no such model; /v1/models lists what there is",
                       "model"};
      }
      return json_reply(model_json(own.names[0], 0));
    });
  });
  router.add(
      "POST", "/tokenize", [&](const Call& call) { call.exchange->reply(tokenize(services, call)); },
      Right::read);
  router.add(
      "POST", "/detokenize", [&](const Call& call) { call.exchange->reply(detokenize(services, call)); },
      Right::read);
}

}  // namespace mplus::serve
