#include "mplus/serve/server.h"

#include <thread>

#include "mplus/serve/core.h"

namespace mplus::serve {
namespace {

CoreOptions core_options(const ServerOptions& options) {
  return {options.scheduler, options.memories, options.services, options.keys};
}

}  // namespace
struct Server::State {
  State(engine::Engine& engine, store::Store& store, ServerOptions how)
      : options(std::move(how)),
        core(engine, store, core_options(options)),
        http(
            options.http, [this](const std::shared_ptr<Exchange>& exchange) { core.router.handle(exchange); },
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
  Core core(engine, store, core_options(options));
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
