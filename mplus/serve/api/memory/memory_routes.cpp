// Memories, and what is done with a whole one: made, forked, taken back, checked, deleted.
#include "mplus/serve/api/memory/memory_json.h"
#include "mplus/serve/api/memory/memory_use.h"
#include "mplus/store/damage/verify.h"

namespace mplus::serve {
namespace {

engine::Steps<Reply> create(Services& services, Job& job, Call& call) {
  const Json body = call.body();
  Fields fields(body);
  const std::string name = free_name(services, call, fields.required_string("name"));
  fields.end();
  co_await services.memories.open(job, call.caller.stored(name), name, true);
  co_return json_reply(memory_json(services, call.caller, services.existing(call.caller, name)), 201);
}

Reply remove(Services& services, const Call& call) {
  services.existing(call.caller, call.names[0]);
  services.memories.close(call.memory());
  const store::Store::Leftover left = services.store.remove(call.memory());
  return json_reply({{"name", call.names[0]},
                     {"deleted", true},
                     {"text_is_gone", left.reader.empty() && left.copies.empty()},
                     {"reader", left.reader.empty() ? Json() : Json(left.reader)}});
}

Reply fork(Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  const std::string name = free_name(services, call, fields.required_string("name"));
  fields.end();
  services.existing(call.caller, call.names[0]);
  services.memories.save(call.memory());
  services.store.fork(call.memory(), call.caller.stored(name));
  return json_reply(memory_json(services, call.caller, services.existing(call.caller, name)), 201);
}

engine::Steps<Reply> undo(Services& services, OpenMemory& memory, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  const std::int64_t n = fields.integer("n", 1, 1 << 20).value_or(1);
  fields.end();
  co_await memory.session.undo_steps(n);
  co_return json_reply(memory_json(services, call.caller, services.existing(call.caller, call.names[0])));
}

Reply flushed(std::int64_t updates) { return json_reply({{"updates", updates}}); }

engine::Steps<Reply> flush(OpenMemory& memory) {
  const std::int64_t updates = co_await memory.session.flush_steps();
  co_return flushed(updates);
}

// The texts of what was undone leave the disk. The store does it, with the session put away.
Reply purge(Services& services, const Call& call) {
  services.existing(call.caller, call.names[0]);
  services.memories.close(call.memory());
  const store::Store::PurgeReport report = services.store.purge(call.memory());
  return json_reply(
      {{"events", report.events},
       {"sources", report.sources},
       {"text_is_gone", report.holders.empty() && report.left.reader.empty() && report.left.copies.empty()}});
}

Reply verify(Services& services, const Call& call) {
  services.existing(call.caller, call.names[0]);
  const store::VerifyReport report = store::verify_session(services.store, call.memory());
  return json_reply({{"sound", report.sound()},
                     {"events", report.events},
                     {"sources", report.sources},
                     {"states", report.states},
                     {"segments", report.segments},
                     {"bytes", report.bytes},
                     {"problems", report.problems},
                     {"verdict", report.verdict}});
}

Reply list(Services& services, const Call& call) {
  Json data = Json::array();
  for (const store::SessionInfo& info : services.store.list())
    if (call.caller.shown(info.name)) data.push_back(memory_json(services, call.caller, info));
  return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

Reply show(Services& services, OpenMemory& memory, const Call& call) {
  Json json = memory_json(services, call.caller, services.existing(call.caller, call.names[0]));
  json["state"] = state_json(memory.session.session());
  return json_reply(json);
}

}  // namespace

void add_memory_routes(Router& router, Services& services) {
  router.add("GET", "/v1/memories", on_engine(services, list));
  router.add("POST", "/v1/memories", as_job(services, create));
  router.add("GET", "/v1/memories/{name}",
             with_memory(services, Using::How::read, [&services](OpenMemory& memory, Call& call) {
               return show(services, memory, call);
             }));
  router.add("DELETE", "/v1/memories/{name}", on_engine(services, remove), Right::admin);
  router.add("POST", "/v1/memories/{name}/fork", on_engine(services, fork));
  router.add("POST", "/v1/memories/{name}/verify", on_engine(services, verify), Right::read);
  router.add("POST", "/v1/memories/{name}/purge", on_engine(services, purge));
  router.add("POST", "/v1/memories/{name}/undo",
             with_memory_in_steps(services, Using::How::remake, [&services](OpenMemory& memory, Call& call) {
               return undo(services, memory, call);
             }));
  router.add("POST", "/v1/memories/{name}/flush",
             with_memory_in_steps(services, Using::How::change,
                                  [](OpenMemory& memory, Call&) { return flush(memory); }));
}

}  // namespace mplus::serve
