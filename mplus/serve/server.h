// The whole server: HTTP on one thread, the engine on another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "mplus/serve/api/services.h"
#include "mplus/serve/http/server.h"

namespace mplus::serve {

struct ServerOptions {
  HttpServer::Options http = {.port = 8080};
  SchedulerOptions scheduler;
  MemoriesOptions memories;
  ServiceOptions services;
  Keys* keys = nullptr;               // must outlive the server
  HttpServer::Observer log = {};      // called on the connections' thread
  std::chrono::seconds patience{20};  // for replies under way, when it is to end
};

class Server {
 public:
  // Listens at once. Engine and store must outlive it, and are its engine's thread's from now on.
  Server(engine::Engine& engine, store::Store& store, ServerOptions options);
  ~Server();

  std::uint16_t port() const;
  void run();   // until stop(); then requests under way have ended and all memories are put away
  void stop();  // from any thread

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same for one assistant beside it (MCP over standard input and output), until there are no more lines.
// `read` is called on a thread of its own, `write` on any, one line at a time is the caller's to see to.
using ReadLine = std::function<std::optional<std::string>()>;
using WriteLine = std::function<void(const std::string&)>;
void run_mcp(engine::Engine& engine, store::Store& store, const ServerOptions& options, const ReadLine& read,
             const WriteLine& write);

}  // namespace mplus::serve
