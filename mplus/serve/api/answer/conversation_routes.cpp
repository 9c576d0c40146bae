// Conversations, as OpenAI and Open Responses have them: each is a memory.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "mplus/serve/api/answer/response_reply.h"
#include "mplus/serve/api/memory/memory_use.h"

namespace mplus::serve {
namespace {

Json conversation_json(const store::SessionInfo& info, const std::string& name) {
  return {{"id", name},
          {"object", "conversation"},
          {"created_at", info.created_at / 1000},
          {"metadata", Json::object()}};
}

void check_new_conversation(const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  fields.only("items", Json::array());
  fields.ignore({"metadata"});
  fields.end();
}

engine::Steps<Reply> create_conversation(Services& services, Job& job, Call& call) {
  check_new_conversation(call);
  const std::string name = random_name("conv_");
  co_await services.memories.open(job, call.caller.stored(name), name, true);
  co_return json_reply(conversation_json(services.existing(call.caller, name), name));
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

// All messages, oldest first.
Json items_of(const store::Journal& journal) {
  Json items = Json::array();
  for (const store::StoredEvent& event : journal.events()) {
    if (event.kind != store::EventKind::turn || !event.in_force() || !event.source || !event.answer) continue;
    items.push_back({{"type", "message"},
                     {"id", fmt::format("msg_{}", *event.source)},
                     {"status", "completed"},
                     {"role", "user"},
                     {"content", {{{"type", "input_text"}, {"text", journal.source(*event.source).text}}}}});
    items.push_back(message_item(fmt::format("msg_{}", *event.answer), "completed",
                                 Json::array({text_part(journal.source(*event.answer).text)})));
  }
  return items;
}

struct Page {
  bool newest_first = true;
  std::size_t limit = 20;
  std::string after;  // an item's id
};

Page page_of(const Call& call) {
  Page page;
  const std::string order = call.request().asked("order").value_or("desc");
  if (order != "asc" && order != "desc")
    throw ApiError{400, "invalid_value", "order: expected asc or desc", "order"};
  page.newest_first = order == "desc";
  page.after = call.request().asked("after").value_or("");
  if (call.request().asked("after") && page.after.empty())
    throw ApiError{400, "invalid_value", "after: is empty", "after"};
  if (const auto limit = call.request().asked("limit")) {
    const auto [end, error] = std::from_chars(limit->data(), limit->data() + limit->size(), page.limit);
    if (error != std::errc() || end != limit->data() + limit->size() || page.limit < 1 || page.limit > 100)
      throw ApiError{400, "invalid_value", "limit: expected a number from 1 to 100", "limit"};
  }
  return page;
}

Reply conversation_items(OpenMemory& memory, const Call& call) {
  const Page page = page_of(call);
  Json items = items_of(memory.session.journal());
  if (page.newest_first) std::reverse(items.begin(), items.end());
  Json data = Json::array();
  bool begun = page.after.empty(), has_more = false;
  for (const Json& item : items) {
    has_more = begun && data.size() == page.limit;
    if (has_more) break;
    if (begun) data.push_back(item);
    begun = begun || item["id"] == page.after;
  }
  if (!begun) throw ApiError{404, "not_found", "after: there is no such message", "after"};
  return json_reply({{"object", "list"},
                     {"first_id", data.empty() ? Json() : data.front()["id"]},
                     {"last_id", data.empty() ? Json() : data.back()["id"]},
                     {"has_more", has_more},
                     {"data", std::move(data)}});
}

}  // namespace

void add_conversation_routes(Router& router, Services& services) {
  router.add("POST", "/v1/conversations", as_job(services, create_conversation));
  router.add("GET", "/v1/conversations/{id}", on_engine(services, conversation));
  router.add("DELETE", "/v1/conversations/{id}", on_engine(services, delete_conversation), Right::admin);
  router.add("GET", "/v1/conversations/{id}/items",
             with_memory(services, Using::How::read, conversation_items));
}

}  // namespace mplus::serve
