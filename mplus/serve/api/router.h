// Which handler a request is for. Before that: who may ask at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mplus/serve/api/idempotency.h"
#include "mplus/serve/api/services.h"

namespace mplus::serve {

class Router {
 public:
  using Handler = std::function<void(Call)>;  // on the connection's thread: it must not take long

  explicit Router(Services& services) : services_(services) {}
  // "/v1/memories/{name}". `right`: what a key must be allowed; nothing: not even a key is needed.
  void add(const char* method, const char* path, Handler handler, std::optional<Right> right);
  void add(const char* method, const char* path,
           Handler handler) {  // who looks reads, who does otherwise writes
    add(method, path, std::move(handler), std::string_view(method) == "GET" ? Right::read : Right::write);
  }
  // As somebody who was let in already.
  void handle_for(const std::shared_ptr<Exchange>& exchange, const Caller& caller) const;
  void handle(const std::shared_ptr<Exchange>& exchange) const;

  // A route as it was added.
  struct Description {
    std::string method, path;
    std::optional<Right> right;
  };
  const std::vector<Description>& descriptions() const { return descriptions_; }

 private:
  struct Route {
    std::string method;
    std::vector<std::string> path;
    Handler handler;
    std::optional<Right> right;
  };
  // `caller`: known already, or to be found by the request's key.
  void route(const std::shared_ptr<Exchange>& exchange, const Caller* caller) const;
  Caller caller_of(const Request& request) const;
  // A page of somebody else's must not use a browser to get in.
  void check_origin(const Request& request) const;

  Services& services_;
  mutable Idempotency idempotency_;
  std::vector<Route> routes_;
  std::vector<Description> descriptions_;
};

// Each adds the routes of one kind.
void add_text_routes(Router& router, Services& services);  // models, tokens, health, metrics
void add_chat_routes(Router& router, Services& services);  // chat and plain completions
void add_response_routes(Router& router, Services& services);
void add_conversation_routes(Router& router, Services& services);
void add_memory_routes(Router& router, Services& services);    // memories: made, forked, undone, deleted
void add_question_routes(Router& router, Services& services);  // ask and search
void add_document_routes(Router& router, Services& services);  // read and forgotten
void add_transfer_routes(Router& router, Services& services);  // export, import
void add_look_routes(Router& router, Services& services);      // documents, turns, events, timeline
void add_page_routes(Router& router);                          // what a browser gets

}  // namespace mplus::serve
