#include "mplus/serve/server.h"

#include <thread>

#include "mplus/serve/api/openapi.h"
#include "mplus/serve/mcp/mcp.h"

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

// What answers requests, whatever they come by.
struct Core {
  Core(engine::Engine& engine, store::Store& store, const ServerOptions& options)
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
  }

  Metrics metrics;
  Memories memories;
  Scheduler scheduler;
  Services services;
  Router router;
  Mcp mcp;
  Background background;  // the last: what it does refers to the others
};

}  // namespace

struct Server::State {
  State(engine::Engine& engine, store::Store& store, ServerOptions how)
      : options(std::move(how)),
        core(engine, store, options),
        http(
            options.host, options.port, options.http,
            [this](const std::shared_ptr<Exchange>& exchange) { core.router.handle(exchange); },
            [this](const Request& request, int status, double seconds) { note(request, status, seconds); }) {}

  // Who asked for what, and how it went; no word of what people say, nor a memory's name.
  void note(const Request& request, int status, double seconds) {
    core.metrics.count_reply(status);
    if (options.log) options.log(request, status, seconds);
  }

  ServerOptions options;
  Core core;
  HttpServer http;
};

Server::Server(engine::Engine& engine, store::Store& store, ServerOptions options)
    : state_(std::make_unique<State>(engine, store, std::move(options))) {}

Server::~Server() = default;

std::uint16_t Server::port() const { return state_->http.port(); }

// The caller's thread is the engine's: it made engine and store.
void Server::run() {
  std::thread http([this] {
    state_->http.run();
    state_->core.scheduler.stop();
  });
  state_->core.scheduler.run();
  state_->core.memories.put_away_all();
  http.join();
}

void Server::stop() { state_->http.stop(state_->options.patience); }

void run_mcp(engine::Engine& engine, store::Store& store, const ServerOptions& options, const ReadLine& read,
             const WriteLine& write) {
  Core core(engine, store, options);
  std::thread reader([&] {
    while (std::optional<std::string> line = read())
      if (line->find_first_not_of(" \t\r") != std::string::npos)
        core.mcp.handle(*line, nullptr, {}, [&write](const std::string& answer, int) {
          if (!answer.empty()) write(answer);
        });
    core.scheduler.stop();
  });
  core.scheduler.run();
  core.memories.put_away_all();
  reader.join();
}

}  // namespace mplus::serve
