// HTTP/1.1 on one thread (Boost.Beast): reads requests within limits, hands each on as an Exchange, and
// writes what is answered. Whoever is handed one must not keep the thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mplus/serve/http/exchange.h"

namespace mplus::serve {

struct HttpLimits {
  std::size_t header_bytes = 16 * 1024;
  std::uint64_t body_bytes = std::uint64_t{64} << 20;
  std::size_t connections = 1024;
  std::chrono::seconds header_time{10};  // from the first byte of a request to the end of its headers
  std::chrono::seconds body_time{120};   // for the rest of it
  std::chrono::seconds idle_time{75};    // between two requests
  std::chrono::seconds write_time{60};   // a client that takes nothing for so long has gone
};

class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;
  // A reply has been sent, or its client has gone (status 0: before it began).
  using Observer = std::function<void(const Request& request, int status, double seconds)>;

  // Binds and listens at once; throws io, naming the address. Port 0: any that is free.
  HttpServer(const std::string& host, std::uint16_t port, const HttpLimits& limits, Handler handler,
             Observer observer);
  ~HttpServer();

  std::uint16_t port() const;
  void run();  // until stop()
  // From any thread. No new connections; open ones end with the reply they wait for, at most after
  // `patience`.
  void stop(std::chrono::seconds patience);
  std::size_t connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mplus::serve
