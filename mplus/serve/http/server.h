// HTTP/1.1 on one thread (Boost.Beast): reads requests within limits, hands each on as an Exchange, and
// writes what is answered. Whoever is handed one must not keep the thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

// Of encrypted connections, as PEM.
struct TlsFiles {
  std::string certificate;  // with those that vouch for it behind it
  std::string key;
};

class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;
  // A reply has been sent, or its client has gone (status 0: before it began).
  using Observer = std::function<void(const Request& request, int status, double seconds)>;

  struct Options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;  // 0: any that is free
    HttpLimits limits = {};
    std::optional<TlsFiles> tls = {};  // none: nothing is encrypted
  };
  // Binds and listens at once; throws io, naming the address.
  HttpServer(const Options& options, Handler handler, Observer observer);
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
