// What the handlers of requests work with, and how a handler becomes a reply.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mplus/serve/error.h"
#include "mplus/serve/http/exchange.h"
#include "mplus/serve/json.h"
#include "mplus/serve/keys.h"
#include "mplus/serve/memories.h"
#include "mplus/serve/metrics.h"
#include "mplus/serve/run/background.h"
#include "mplus/serve/run/scheduler.h"

namespace mplus::serve {

struct ServiceOptions {
  std::string version, commit;
  std::vector<std::string> memory_headers;  // in lower case; X-Mplus-Memory is always one
  std::vector<std::string> hosts;           // that may stand in Host, beside those of this machine
  std::vector<std::string> origins;         // pages that may call, beside our own
  bool open_without_keys = true;            // where there are no keys, everybody may do everything
};

// One request on its way through a handler.
struct Call {
  std::shared_ptr<Exchange> exchange;
  std::vector<std::string> names;  // what stands for {…} in the route's path
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  Caller caller = {};

  std::string memory() const { return caller.stored(names[0]); }  // that the path names
  const Request& request() const { return exchange->request; }
  Json body() const { return Fields::parse(request().body); }
  // "?dry_run=true"; throws ApiError where it is neither true nor false.
  bool asked_for(const std::string& name, bool otherwise) const;
};

struct Services {
  engine::Engine& engine;
  store::Store& store;  // the engine's thread's
  Scheduler& scheduler;
  Memories& memories;  // the engine's thread's
  Metrics& metrics;
  Background& background;
  ServiceOptions options;
  Keys* keys = nullptr;  // null: there are none

  // A memory as the store has it, by the caller's name for it; throws ApiError where there is none.
  store::SessionInfo existing(const Caller& caller, const std::string& name) const;

  using Handler = std::function<engine::Steps<>(Job&, Call&)>;
  // On the engine's thread, in steps. What it throws becomes the reply, or ends the stream.
  void as_job(Call call, Handler handler);
  // On a thread of the background; what it throws becomes the reply.
  void beside(Call call, std::function<void(Call&)> handler);
  // On the engine's thread, in one go.
  void on_engine(Call call, std::function<Reply(Call&)> handler);
};

void report(const Call& call, const std::exception_ptr& failure);
Reply json_reply(const Json& json, int status = 200);
std::string sse(std::string_view event, const Json& data);  // without an event's name: "data: …"
std::int64_t seconds_now();                                 // since 1970

}  // namespace mplus::serve
