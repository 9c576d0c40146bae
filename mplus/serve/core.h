// What answers requests, whatever they come by: a connection, a line of an assistant's. Engine and store
// belong to the thread that runs the scheduler.
#pragma once

#include "mplus/serve/api/router.h"
#include "mplus/serve/mcp/mcp.h"

namespace mplus::serve {

struct CoreOptions {
  SchedulerOptions scheduler;
  MemoriesOptions memories;
  ServiceOptions services;
  Keys* keys = nullptr;
};

struct Core {
  Core(engine::Engine& engine, store::Store& store, const CoreOptions& options);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  Metrics metrics;
  Memories memories;
  Scheduler scheduler;
  Services services;
  Router router;
  Mcp mcp;
  Background background;  // the last: what it does refers to the others
};

}  // namespace mplus::serve
