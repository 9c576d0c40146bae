// The Model Context Protocol: an assistant's tools for a memory, as JSON-RPC messages over whatever carries
// them. Versions of the handshake (up to 2025-11-25) and 2026-07-28, which has none: each request brings its
// version along. A tool is a request of the HTTP API under another name, so there is one place that does
// things.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mplus/serve/api/router.h"

namespace mplus::serve {

class Mcp {
 public:
  explicit Mcp(const Router& router, std::string version) : router_(router), version_(std::move(version)) {}

  // Called once, on any thread. No answer: it was a notification. `status` is what HTTP says of it.
  using Done = std::function<void(std::string answer, int status)>;
  // `headers`: of an HTTP request, to be held against the message; null where there are none.
  void handle(std::string_view message, const Request* headers, const Caller& caller, const Done& done) const;

 private:
  struct Message;
  void answer(const Message& message, const Done& done) const;
  void call_tool(const Message& message, const Done& done) const;

  const Router& router_;
  std::string version_;
};

void add_mcp_routes(Router& router, const Mcp& mcp);  // POST /mcp

}  // namespace mplus::serve
