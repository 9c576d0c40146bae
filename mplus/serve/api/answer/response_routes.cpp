// Responses, as OpenAI and Open Responses have them.
#include "mplus/serve/api/answer/response_reply.h"
#include "mplus/serve/api/memory/memory_use.h"

namespace mplus::serve {
namespace {

// The event of a turn, if it is one and in force.
const store::StoredEvent* turn_at(const std::vector<store::StoredEvent>& events, std::int64_t number) {
  for (const store::StoredEvent& event : events)
    if (event.number == number && event.kind == store::EventKind::turn && event.in_force() && event.source &&
        event.answer)
      return &event;
  return nullptr;
}

// Going on from a turn: in its memory if it is the last there, else in a fork that ends with it.
engine::Steps<> go_on_from_previous(Services& services, Job& job, const Call& call,
                                    ResponseRequest& request) {
  const TurnPlace& previous = *request.previous;
  const auto memory =
      co_await services.memories.open(job, call.caller.stored(previous.memory), previous.memory, false);
  const auto events = memory->session.journal().events();
  if (!turn_at(events, previous.event))
    throw ApiError{404, "not_found", "there is no such response any more", "previous_response_id"};
  std::int64_t later = 0;
  for (const store::StoredEvent& event : events)
    if (event.number > previous.event && event.in_force() &&
        (event.kind == store::EventKind::turn || event.kind == store::EventKind::text ||
         event.kind == store::EventKind::flush))
      ++later;
  if (later == 0) co_return;
  const std::string name = random_name("conv_");
  services.memories.save(call.caller.stored(previous.memory));
  services.store.fork(call.caller.stored(previous.memory), call.caller.stored(name));
  const auto fork = co_await services.memories.open(job, call.caller.stored(name), name, false);
  const Using remaking(fork, Using::How::remake);
  co_await fork->session.undo_steps(later);
  request.memory.name = name;
}

engine::Steps<> respond(Services& services, Job& job, Call& call, ResponseRequest request) {
  if (request.previous) co_await go_on_from_previous(services, job, call, request);
  ResponseReply reply(services, call, request);
  co_await complete(services, job, call, request, reply);
}

Reply response_of(const OpenMemory& memory, const TurnPlace& place) {
  const auto events = memory.session.journal().events();
  const store::StoredEvent* turn = turn_at(events, place.event);
  if (!turn) throw ApiError{404, "not_found", "there is no such response any more"};
  const Json item =
      message_item(place.item_id(), "completed",
                   Json::array({text_part(memory.session.journal().source(*turn->answer).text)}));
  return json_reply({{"id", place.id()},
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

engine::Steps<Reply> kept_response(Services& services, Job& job, Call& call) {
  const TurnPlace place = TurnPlace::of(call.names[0], "response_id");
  const auto memory =
      co_await services.memories.open(job, call.caller.stored(place.memory), place.memory, false);
  co_return response_of(*memory, place);
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
  router.add("GET", "/v1/responses/{id}", as_job(services, kept_response));
}

}  // namespace mplus::serve
