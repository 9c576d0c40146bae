#include "mplus/serve/api/answer/response_reply.h"

#include <fmt/core.h>

#include <set>

namespace mplus::serve {
namespace {

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

}  // namespace

Json message_item(const std::string& id, const char* status, const Json& content) {
  return {{"type", "message"}, {"id", id}, {"status", status}, {"role", "assistant"}, {"content", content}};
}
Json text_part(std::string_view text, const Json& annotations) {
  return {{"type", "output_text"},
          {"text", std::string(text)},
          {"annotations", annotations},
          {"logprobs", Json::array()}};
}

ResponseReply::ResponseReply(Services& services, Call& call, const ResponseRequest& request)
    : services_(services),
      call_(call),
      request_(request),
      item_(random_name("msg_")),
      created_(seconds_now()) {}

bool ResponseReply::text(std::string_view piece) {
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

void ResponseReply::end(Json memory) {
  services_.metrics.note_answer(answer_.prompt_tokens, std::ssize(answer_.tokens), call_.began);
  if (memory.is_object() && memory.value("mode", "") == "write")
    id_ = TurnPlace{request_.memory.name, memory["event"].get<std::int64_t>()}.id();
  const bool cut =
      answer_.reason == engine::StopReason::max_tokens || answer_.reason == engine::StopReason::context_full;
  const char* status = cut ? "incomplete" : "completed";
  const Json part = text_part(text_, annotations_of(memory, text_.size()));
  const Json item = message_item(item_, status, Json::array({part}));
  const Json all = whole(status, item, std::move(memory));
  if (!request_.stream) return call_.exchange->reply(json_reply(all));
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
  event(cut ? "response.incomplete" : "response.completed", {{"response", all}});
  call_.exchange->end();
}

// As it is when it has ended.
Json ResponseReply::whole(const char* status, const Json& item, Json memory) const {
  Json json = response(status);
  json["output"] = Json::array({item});
  if (std::string_view(status) == "incomplete")
    json["incomplete_details"] = {{"reason", "max_output_tokens"}};
  json["usage"] = {{"input_tokens", answer_.prompt_tokens},
                   {"input_tokens_details", {{"cached_tokens", 0}}},
                   {"output_tokens", answer_.tokens.size()},
                   {"output_tokens_details", {{"reasoning_tokens", 0}}},
                   {"total_tokens", answer_.prompt_tokens + std::ssize(answer_.tokens)}};
  if (!memory.is_null()) json["memory"] = std::move(memory);
  return json;
}

Json ResponseReply::response(const char* status) const {
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

void ResponseReply::open() {
  if (std::exchange(opened_, true)) return;
  call_.exchange->begin_stream("text/event-stream; charset=utf-8");
  event("response.created", {{"response", response("in_progress")}});
  event("response.in_progress", {{"response", response("in_progress")}});
  event("response.output_item.added",
        {{"output_index", 0}, {"item", message_item(item_, "in_progress", Json::array())}});
  event("response.content_part.added",
        {{"item_id", item_}, {"output_index", 0}, {"content_index", 0}, {"part", text_part("")}});
}

void ResponseReply::event(const char* type, const Json& fields) {
  Json json{{"type", type}, {"sequence_number", sequence_++}};
  json.update(fields);
  call_.exchange->write(sse(type, json));
}

}  // namespace mplus::serve
