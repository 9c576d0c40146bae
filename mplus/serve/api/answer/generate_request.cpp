#include "mplus/serve/api/answer/generate_request.h"

#include <charconv>
#include <cmath>

#include "mplus/core/error.h"
#include "mplus/engine/answer/sampling/json_constraint.h"

namespace mplus::serve {
namespace {

constexpr std::int64_t kMostTokens = 32768, kDefaultTokens = 512;

std::map<io::TokenId, float> bias_of(Fields& fields, std::int64_t vocab) {
  const Json* json = fields.any("logit_bias");
  std::map<io::TokenId, float> bias;
  if (!json) return bias;
  if (!json->is_object()) fields.refuse("logit_bias", "expected an object of token ids and numbers");
  for (const auto& [key, value] : json->items()) {
    io::TokenId id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab ||
        !value.is_number() || std::abs(value.get<double>()) > 100)
      fields.refuse("logit_bias", "expected token ids of this model with numbers from -100 to 100");
    bias[id] = value.get<float>();
  }
  return bias;
}

void read_sampling(const Services& services, Fields& fields, engine::GenerateOptions& options) {
  engine::SamplingOptions& sampling = options.sampling;
  sampling.temperature = static_cast<float>(fields.number("temperature", 0, 2).value_or(0));
  sampling.top_p = static_cast<float>(fields.number("top_p", 0, 1).value_or(1));
  if (sampling.top_p == 0) sampling.top_p = 1e-6f;  // the best token alone
  sampling.top_k = fields.integer("top_k", -1, 1 << 20).value_or(0);
  if (sampling.top_k < 0) sampling.top_k = 0;
  sampling.min_p = static_cast<float>(fields.number("min_p", 0, 0.999).value_or(0));
  sampling.frequency_penalty = static_cast<float>(fields.number("frequency_penalty", -2, 2).value_or(0));
  sampling.presence_penalty = static_cast<float>(fields.number("presence_penalty", -2, 2).value_or(0));
  sampling.repetition_penalty = static_cast<float>(fields.number("repetition_penalty", 0.01, 10).value_or(1));
  sampling.seed =
      static_cast<std::uint64_t>(fields
                                     .integer("seed", std::numeric_limits<std::int64_t>::min() / 2,
                                              std::numeric_limits<std::int64_t>::max() / 2)
                                     .value_or(0));
  sampling.bias = bias_of(fields, services.engine.weights().config.vocab);
}

Json numbers_json(const std::vector<double>& numbers) {
  Json list = Json::array();
  for (const double number : numbers) list.push_back(std::isfinite(number) ? Json(number) : Json());
  return list;
}

Json refuted_json(const engine::Answer& answer, std::int64_t chunk) {
  for (const engine::Refuted& refuted : answer.refuted)
    if (refuted.chunk == chunk) return {{"said", refuted.said}, {"names", refuted.names}};
  return nullptr;
}

}  // namespace

GenerateRequest generate_request(const Services& services, const Call& call, Fields& fields) {
  GenerateRequest request;
  request.model = fields.string("model").value_or(std::string(kModelName));
  request.memory = memory_choice(services, call, fields, request.model);
  engine::GenerateOptions& options = request.options;
  const auto tokens = fields.integer("max_tokens", 1, kMostTokens);
  options.max_tokens =
      fields.integer("max_completion_tokens", 1, kMostTokens).value_or(tokens.value_or(kDefaultTokens));
  read_sampling(services, fields, options);
  options.stop = fields.strings("stop", 16);
  for (const std::string& stop : options.stop)
    if (stop.empty()) fields.refuse("stop", "a stop string is empty");
  options.cancel = call.exchange->gone_token();
  options.why = request.memory.mode != MemoryMode::off;
  options.reread = fields.integer("reread", 0, 16).value_or(0);
  request.answers = fields.integer("n", 1, 16).value_or(1);
  if (request.answers > 1 && request.memory.mode == MemoryMode::write)
    fields.refuse("n", "a turn of a memory has one answer; with mode read there can be more");
  request.stream = fields.boolean("stream").value_or(false);
  if (const Json* how = fields.any("stream_options")) {
    Fields inner(*how, "stream_options");
    request.usage_in_stream = inner.boolean("include_usage").value_or(false);
    inner.ignore({"include_obfuscation", "continuous_usage_stats"});
    inner.end();
  }
  // Sent by clients as a matter of course; nothing of them changes an answer here.
  fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                 "chat_id", "id", "session_id", "background_tasks", "features", "variables", "model_item"});
  return request;
}

void read_format(const Json& format, const std::string& where, engine::GenerateOptions& options) {
  Fields fields(format, where);
  const std::string type = fields.required_string("type");
  engine::JsonShapePtr shape;
  if (type == "json_object") {
    shape = engine::any_json_object();
  } else if (type == "json_schema") {
    // A chat has name and schema in an object of their own; a response has them here.
    const Json* inner = fields.any("json_schema");
    Fields own(inner ? *inner : format, inner ? where + ".json_schema" : where);
    const Json* schema = own.any("schema");
    if (!schema) own.refuse("schema", "is missing");
    own.ignore({"type", "name", "description", "strict"});
    own.end();
    fields.ignore({"schema", "name", "description", "strict"});
    try {
      shape = engine::json_shape(*schema);
    } catch (const Error& error) {
      throw ApiError{400, "invalid_schema", error.what(), where};
    }
  } else if (type != "text") {
    fields.refuse("type", "expected text, json_object or json_schema");
  }
  fields.end();
  if (shape) options.constraint = [shape] { return engine::json_constraint(shape); };
}

const char* finish_reason(engine::StopReason reason) {
  switch (reason) {
    case engine::StopReason::end_of_text:
    case engine::StopReason::stop_string:
    case engine::StopReason::cancelled:
      return "stop";
    case engine::StopReason::max_tokens:
    case engine::StopReason::context_full:
      return "length";
  }
  return "stop";
}

Json passages_json(const engine::Answer& answer, std::size_t most, const engine::Record& record,
                   const store::StoredSession* stored) {
  Json list = Json::array();
  for (const engine::WhyChunk& chunk : answer.why) {
    if (list.size() == most) break;
    Json spans = Json::array();
    for (const engine::Span& span : chunk.spans) {
      const engine::Source& source = record.source(span.source);
      const bool known = stored && static_cast<std::size_t>(span.source) < stored->source_ids().size();
      spans.push_back({{"source", known ? Json(stored->source_id(span.source)) : Json()},
                       {"name", source.name},
                       {"speaker", engine::speaker_name(source.speaker)},
                       {"begin", span.byte_begin},
                       {"end", span.byte_end},
                       {"text", record.text(span)}});
    }
    list.push_back({{"chunk", chunk.chunk},
                    {"vote", chunk.vote},
                    {"words", chunk.words},
                    {"total", chunk.total},
                    {"weight", chunk.weight},
                    {"layers_first", chunk.layers_first},
                    {"layer_votes", numbers_json(chunk.layer_votes)},
                    {"rows_recalled", chunk.rows_recalled},
                    {"rows_short_term", chunk.rows_short_term},
                    {"passed", chunk.passed},
                    {"refuted", refuted_json(answer, chunk.chunk)},
                    {"reread", chunk.reread},
                    {"spans", std::move(spans)}});
  }
  return list;
}

Json seen_json(const engine::Answer& answer, const engine::Session& session, std::int64_t window) {
  std::size_t recalled = 0, short_term = 0;
  for (const auto& births : answer.recalled_births) recalled = std::max(recalled, births.size());
  for (const auto& births : answer.seen_births) short_term = std::max(short_term, births.size());
  const bool memory = session.engine().has_memory() && !answer.by_base;
  if (answer.seen_births.empty() && memory)
    for (std::int64_t layer = 0; layer < session.memory().layout().layers; ++layer)
      short_term = std::max(short_term, static_cast<std::size_t>(session.memory().short_term(layer).n));
  return {{"base", answer.by_base},
          {"bos", memory ? 1 : 0},
          {"recalled", recalled},
          {"short_term", short_term},
          // The base model reads all of the conversation that it sees.
          {"window", answer.by_base ? answer.prompt_tokens + std::ssize(answer.tokens) : window}};
}

std::int64_t read_before(const engine::Session& session) {
  const auto& window = session.window();
  const auto last = std::find_if(window.rbegin(), window.rend(), [&](const engine::WindowToken& token) {
    return session.record().source(token.source).speaker == engine::Speaker::assistant;
  });
  return std::distance(last, window.rend());
}

Json usage_json(std::int64_t prompt_tokens, std::int64_t answer_tokens) {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", answer_tokens},
          {"total_tokens", prompt_tokens + answer_tokens}};
}

}  // namespace mplus::serve
