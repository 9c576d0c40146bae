#include "mplus/serve/core.h"

#include "mplus/serve/api/openapi.h"

namespace mplus::serve {
namespace {

SchedulerOptions with_housekeeping(SchedulerOptions options, Memories& memories) {
  options.housekeeping = [&memories, next = std::chrono::steady_clock::now()]() mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now < next) return;
    next = now + std::chrono::seconds(1);
    memories.put_away_idle();
  };
  return options;
}

}  // namespace

Core::Core(engine::Engine& engine, store::Store& store, const CoreOptions& options)
    : memories(store, engine, options.memories),
      scheduler(engine.runner(), with_housekeeping(options.scheduler, memories)),
      services{engine, store, scheduler, memories, metrics, background, options.services, options.keys},
      router(services),
      mcp(router, options.services.version) {
  add_text_routes(router, services);
  add_chat_routes(router, services);
  add_response_routes(router, services);
  add_conversation_routes(router, services);
  add_memory_routes(router, services);
  add_question_routes(router, services);
  add_document_routes(router, services);
  add_transfer_routes(router, services);
  add_look_routes(router, services);
  add_page_routes(router);
  add_mcp_routes(router, mcp);
  add_openapi_route(router, options.services.version);
  engine.runner().observe_recalls([this](double seconds) { metrics.recall_seconds.add(seconds); });
  store.database().observe_commits([this](double seconds) { metrics.commit_seconds.add(seconds); });
}

Core::~Core() {
  services.engine.runner().observe_recalls({});
  services.store.database().observe_commits({});
}

}  // namespace mplus::serve
