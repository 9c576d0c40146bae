// Responses and conversations, as OpenAI and Open Responses have them. A conversation is a memory; a response
// that was kept is a turn of one, called by the memory's name and the turn's event, so nothing else has to be
// stored.
#include <fmt/core.h>
#include <openssl/rand.h>

#include <charconv>

#include "mplus/io/text/names.h"
#include "mplus/serve/api/completion.h"
#include "mplus/serve/api/memory_json.h"
#include "mplus/serve/api/router.h"

namespace mplus::serve {
namespace {

constexpr std::string_view kResponse = "resp_";

std::string random_name(const char* prefix) {
  std::array<unsigned char, 12> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1)
    throw ApiError{503, "no_randomness", "the system gives no random numbers"};
  std::string name = prefix;
  for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
  return name;
}

// A turn as a response's id: letters, digits and '_' alone, whatever the memory is called.
struct TurnPlace {
  std::string memory;
  std::int64_t event = 0;

  std::string id() const {
    std::string text(kResponse);
    for (const char c : memory) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return text + fmt::format("_{}", event);
  }
  static TurnPlace of(const std::string& id, const char* field) {
    const auto missing = [&]() -> ApiError {
      return {404, "not_found",
              fmt::format("there is no response {}; only turns of a memory are kept", io::shown(id)), field};
    };
    const std::size_t last = id.rfind('_');
    if (!id.starts_with(kResponse) || last < kResponse.size() || (last - kResponse.size()) % 2 != 0)
      throw missing();
    TurnPlace place;
    for (std::size_t i = kResponse.size(); i < last; i += 2) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(id.data() + i, id.data() + i + 2, value, 16);
      if (error != std::errc() || end != id.data() + i + 2) throw missing();
      place.memory += static_cast<char>(value);
    }
    const auto [end, error] = std::from_chars(id.data() + last + 1, id.data() + id.size(), place.event);
    if (error != std::errc() || end != id.data() + id.size() || place.memory.empty()) throw missing();
    return place;
  }
};

struct ResponseRequest : CompletionRequest {
  std::optional<TurnPlace> previous;
  std::string instructions;
  Json metadata = Json::object();
};

// A text, or a list of messages.
std::vector<Message> input_of(Fields& fields) {
  const Json* input = fields.any("input");
  if (!input) fields.refuse("input", "is missing");
  if (input->is_string()) return {{io::Role::user, input->get<std::string>()}};
  return messages_of(fields, "input");
}

// `conversation` and `previous_response_id` name the memory, too; the first of all that do counts, and two
// that differ are refused.
void choose_memory(Fields& fields, const Call& call, ResponseRequest& request) {
  std::string name;
  if (const Json* conversation = fields.any("conversation")) {
    if (conversation->is_string()) {
      name = conversation->get<std::string>();
    } else {
      Fields inner(*conversation, "conversation");
      name = inner.required_string("id");
      inner.end();
    }
    request.memory.create = false;
  }
  if (const auto previous = fields.string("previous_response_id")) {
    if (!name.empty())
      fields.refuse("previous_response_id", "a request has this or `conversation`, not both");
    request.previous = TurnPlace::of(*previous, "previous_response_id");
    name = request.previous->memory;
    request.memory.create = false;
  }
  if (name.empty()) return;
  if (!request.memory.name.empty() && request.memory.name != name)
    throw ApiError{400, "two_memories", "the request names two memories", "memory"};
  if (!call.caller.may(Right::write))
    throw ApiError{403, "not_allowed", "this key may not write", "conversation"};
  request.memory.name = name;
  request.memory.mode = MemoryMode::write;
  request.options.why = true;
}

ResponseRequest response_request(const Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  ResponseRequest request{{generate_request(services, call, fields), input_of(fields)}, {}, {}};
  request.options.max_tokens =
      fields.integer("max_output_tokens", 1, 32768).value_or(request.options.max_tokens);
  request.sends_history = false;
  request.instructions = fields.string("instructions").value_or("");
  if (!request.instructions.empty())
    request.messages.insert(request.messages.begin(), {io::Role::system, request.instructions});
  choose_memory(fields, call, request);
  if (const Json* metadata = fields.any("metadata"); metadata && metadata->is_object())
    request.metadata = *metadata;
  if (const Json* text = fields.any("text")) {
    Fields inner(*text, "text");
    if (const Json* format = inner.any("format")) read_format(*format, "text.format", request.options);
    inner.ignore({"verbosity"});
    inner.end();
  }
  fields.only("tools", Json::array());
  fields.only("background", false);
  if (const Json* choice = fields.any("tool_choice"); choice && *choice != "none" && *choice != "auto")
    fields.refuse("tool_choice", "tools are not supported");
  if (const auto cut = fields.string("truncation"); cut && *cut != "auto" && *cut != "disabled")
    fields.refuse("truncation", "expected auto or disabled");
  if (const Json* include = fields.any("include"); include && !(include->is_array() && include->empty()))
    fields.refuse("include", "nothing more can be included");
  fields.ignore(
      {"parallel_tool_calls", "reasoning", "prompt_cache_retention", "max_tool_calls", "top_logprobs"});
  fields.end();
  if (request.answers != 1) fields.refuse("n", "a response has one answer");
  return request;
}

Json message_item(const std::string& id, const char* status, const Json& content) {
  return {{"type", "message"}, {"id", id}, {"status", status}, {"role", "assistant"}, {"content", content}};
}
Json text_part(std::string_view text, const Json& annotations = Json::array()) {
  return {{"type", "output_text"},
          {"text", std::string(text)},
          {"annotations", annotations},
          {"logprobs", Json::array()}};
}

// The sources behind an answer, each once, best first.
Json annotations_of(const Json& memory, std::size_t at) {
  Json list = Json::array();
  std::set<std::int64_t> seen;
  if (memory.is_null() || !memory.contains("passages")) return list;
  for (const Json& passage : memory["passages"])
    for (const Json& span : passage["spans"])
      if (passage["weight"].get<double>() > 0 && span["source"].is_number() &&
          seen.insert(span["source"].get<std::int64_t>()).second)
        list.push_back({{"type", "file_citation"},
                        {"index", at},
                        {"file_id", fmt::format("{}", span["source"].get<std::int64_t>())},
                        {"filename", span["name"]}});
  return list;
}

class ResponseReply final : public ReplyForm {
 public:
  ResponseReply(Services& services, Call& call, const ResponseRequest& request)
      : services_(services),
        call_(call),
        request_(request),
        item_(random_name("msg_")),
        created_(seconds_now()) {}

  bool text(std::string_view piece) override {
    services_.metrics.note_piece(call_.began, last_piece_);
    text_ += piece;
    if (!request_.stream) return true;
    open();
    event("response.output_text.delta", {{"item_id", item_},
                                         {"output_index", 0},
                                         {"content_index", 0},
                                         {"delta", std::string(piece)},
                                         {"logprobs", Json::array()}});
    return true;
  }

  void end_answer(const engine::Answer& answer) override { answer_ = answer; }

  void end(Json memory) override {
    services_.metrics.note_answer(answer_.prompt_tokens, std::ssize(answer_.tokens), call_.began);
    if (memory.is_object() && memory.value("mode", "") == "write")
      id_ = TurnPlace{request_.memory.name, memory["event"].get<std::int64_t>()}.id();
    const bool cut = answer_.reason == engine::StopReason::max_tokens ||
                     answer_.reason == engine::StopReason::context_full;
    const Json part = text_part(text_, annotations_of(memory, text_.size()));
    const Json item = message_item(item_, cut ? "incomplete" : "completed", Json::array({part}));
    Json whole = response(cut ? "incomplete" : "completed");
    whole["output"] = Json::array({item});
    if (cut) whole["incomplete_details"] = {{"reason", "max_output_tokens"}};
    whole["usage"] = {{"input_tokens", answer_.prompt_tokens},
                      {"input_tokens_details", {{"cached_tokens", 0}}},
                      {"output_tokens", answer_.tokens.size()},
                      {"output_tokens_details", {{"reasoning_tokens", 0}}},
                      {"total_tokens", answer_.prompt_tokens + std::ssize(answer_.tokens)}};
    if (!memory.is_null()) whole["memory"] = std::move(memory);
    if (!request_.stream) return call_.exchange->reply(json_reply(whole));
    open();
    const Json place{{"item_id", item_}, {"output_index", 0}, {"content_index", 0}};
    Json done = place;
    done["text"] = text_;
    done["logprobs"] = Json::array();
    event("response.output_text.done", done);
    done = place;
    done["part"] = part;
    event("response.content_part.done", done);
    event("response.output_item.done", {{"output_index", 0}, {"item", item}});
    event(cut ? "response.incomplete" : "response.completed", {{"response", whole}});
    call_.exchange->end();
  }

 private:
  Json response(const char* status) const {
    return {{"id", id_},
            {"object", "response"},
            {"created_at", created_},
            {"status", status},
            {"error", nullptr},
            {"incomplete_details", nullptr},
            {"instructions", request_.instructions.empty() ? Json() : Json(request_.instructions)},
            {"max_output_tokens", request_.options.max_tokens},
            {"model", request_.model},
            {"output", Json::array()},
            {"parallel_tool_calls", false},
            {"previous_response_id", request_.previous ? Json(request_.previous->id()) : Json()},
            {"conversation", request_.memory.name.empty() ? Json() : Json{{"id", request_.memory.name}}},
            {"store", request_.memory.mode == MemoryMode::write},
            {"temperature", request_.options.sampling.temperature},
            {"top_p", request_.options.sampling.top_p},
            {"text", {{"format", {{"type", "text"}}}}},
            {"tool_choice", "none"},
            {"tools", Json::array()},
            {"truncation", "auto"},
            {"metadata", request_.metadata},
            {"usage", nullptr}};
  }

  void open() {
    if (std::exchange(opened_, true)) return;
    call_.exchange->begin_stream("text/event-stream; charset=utf-8");
    event("response.created", {{"response", response("in_progress")}});
    event("response.in_progress", {{"response", response("in_progress")}});
    event("response.output_item.added",
          {{"output_index", 0}, {"item", message_item(item_, "in_progress", Json::array())}});
    event("response.content_part.added",
          {{"item_id", item_}, {"output_index", 0}, {"content_index", 0}, {"part", text_part("")}});
  }
  void event(const char* type, const Json& fields) {
    Json json{{"type", type}, {"sequence_number", sequence_++}};
    json.update(fields);
    call_.exchange->write(sse(type, json));
  }

  Services& services_;
  Call& call_;
  const ResponseRequest& request_;
  std::string id_ = random_name("resp_"), item_;
  std::int64_t created_;
  std::string text_;
  engine::Answer answer_;
  bool opened_ = false;
  std::int64_t sequence_ = 0;
  std::optional<std::chrono::steady_clock::time_point> last_piece_;
};

// The event of a turn, if it is one and in force.
const store::StoredEvent* turn_at(const std::vector<store::StoredEvent>& events, std::int64_t number) {
  for (const store::StoredEvent& event : events)
    if (event.number == number && event.kind == store::EventKind::turn && event.in_force() && event.source &&
        event.answer)
      return &event;
  return nullptr;
}

// Going on from a turn: in its memory if it is the last there, else in a fork that ends with it.
void go_on_from_previous(Services& services, const Call& call, ResponseRequest& request) {
  const TurnPlace& previous = *request.previous;
  const auto memory = services.memories.open(call.caller.stored(previous.memory), previous.memory, false);
  const auto events = memory->session.journal().events();
  if (!turn_at(events, previous.event))
    throw ApiError{404, "not_found", "there is no such response any more", "previous_response_id"};
  std::int64_t later = 0;
  for (const store::StoredEvent& event : events)
    if (event.number > previous.event && event.in_force() &&
        (event.kind == store::EventKind::turn || event.kind == store::EventKind::text ||
         event.kind == store::EventKind::flush))
      ++later;
  if (later == 0) return;
  const std::string name = random_name("conv_");
  services.memories.save(call.caller.stored(previous.memory));
  services.store.fork(call.caller.stored(previous.memory), call.caller.stored(name));
  services.memories.open(call.caller.stored(name), name, false)->session.undo(later);
  request.memory.name = name;
}

engine::Steps<> respond(Services& services, Job& job, Call& call, ResponseRequest request) {
  if (request.previous) go_on_from_previous(services, call, request);
  ResponseReply reply(services, call, request);
  co_await complete(services, job, call, request, reply);
}

Reply kept_response(Services& services, const Call& call) {
  const TurnPlace place = TurnPlace::of(call.names[0], "response_id");
  const auto memory = services.memories.open(call.caller.stored(place.memory), place.memory, false);
  const auto events = memory->session.journal().events();
  const store::StoredEvent* turn = turn_at(events, place.event);
  if (!turn) throw ApiError{404, "not_found", "there is no such response any more"};
  const Json item =
      message_item("msg_" + call.names[0].substr(kResponse.size()), "completed",
                   Json::array({text_part(memory->session.journal().source(*turn->answer).text)}));
  return json_reply({{"id", call.names[0]},
                     {"object", "response"},
                     {"created_at", turn->at / 1000},
                     {"status", "completed"},
                     {"model", kModelName},
                     {"conversation", {{"id", place.memory}}},
                     {"output", Json::array({item})},
                     {"parallel_tool_calls", false},
                     {"tool_choice", "none"},
                     {"tools", Json::array()}});
}

Json conversation_json(const store::SessionInfo& info, const std::string& name) {
  return {{"id", name},
          {"object", "conversation"},
          {"created_at", info.created_at / 1000},
          {"metadata", Json::object()}};
}

Reply create_conversation(Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  fields.only("items", Json::array());
  fields.ignore({"metadata"});
  fields.end();
  const std::string name = random_name("conv_");
  services.memories.open(call.caller.stored(name), name, true);
  return json_reply(conversation_json(services.existing(call.caller, name), name));
}

Reply conversation(Services& services, const Call& call) {
  return json_reply(conversation_json(services.existing(call.caller, call.names[0]), call.names[0]));
}

Reply delete_conversation(Services& services, const Call& call) {
  services.existing(call.caller, call.names[0]);
  services.memories.close(call.memory());
  services.store.remove(call.memory());
  return json_reply({{"id", call.names[0]}, {"object", "conversation.deleted"}, {"deleted", true}});
}

Reply conversation_items(Services& services, const Call& call) {
  const auto memory = services.memories.open(call.memory(), call.names[0], false);
  const store::Journal& journal = memory->session.journal();
  Json data = Json::array();
  for (const store::StoredEvent& event : journal.events()) {
    if (event.kind != store::EventKind::turn || !event.in_force() || !event.source || !event.answer) continue;
    data.push_back({{"type", "message"},
                    {"id", fmt::format("msg_{}", *event.source)},
                    {"status", "completed"},
                    {"role", "user"},
                    {"content", {{{"type", "input_text"}, {"text", journal.source(*event.source).text}}}}});
    data.push_back(message_item(fmt::format("msg_{}", *event.answer), "completed",
                                Json::array({text_part(journal.source(*event.answer).text)})));
  }
  if (call.request().asked("order").value_or("desc") == "desc") std::reverse(data.begin(), data.end());
  return json_reply({{"object", "list"},
                     {"first_id", data.empty() ? Json() : data.front()["id"]},
                     {"last_id", data.empty() ? Json() : data.back()["id"]},
                     {"has_more", false},
                     {"data", std::move(data)}});
}

}  // namespace

void add_response_routes(Router& router, Services& services) {
  router.add(
      "POST", "/v1/responses",
      [&services](Call call) {
        ResponseRequest request = response_request(services, call);
        services.as_job(std::move(call), [&services, request = std::move(request)](Job& job, Call& own) {
          return respond(services, job, own, request);
        });
      },
      Right::read);  // one that is kept needs the right to write
  const auto on_engine = [&services](Reply (*handler)(Services&, const Call&)) -> Router::Handler {
    return [&services, handler](Call call) {
      services.on_engine(std::move(call), [&services, handler](Call& own) { return handler(services, own); });
    };
  };
  router.add("GET", "/v1/responses/{id}", on_engine(kept_response));
  router.add("POST", "/v1/conversations", on_engine(create_conversation));
  router.add("GET", "/v1/conversations/{id}", on_engine(conversation));
  router.add("DELETE", "/v1/conversations/{id}", on_engine(delete_conversation), Right::admin);
  router.add("GET", "/v1/conversations/{id}/items", on_engine(conversation_items));
}

}  // namespace mplus::serve
