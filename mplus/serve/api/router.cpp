#include "mplus/serve/api/router.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/core/text.h"

namespace mplus::serve {
namespace {

std::vector<std::string> pieces(std::string_view path) {
  std::vector<std::string> result;
  path.remove_prefix(1);
  while (!path.empty()) {
    const std::size_t at = std::min(path.find('/'), path.size());
    result.emplace_back(path.substr(0, at));
    path.remove_prefix(std::min(path.size(), at + 1));
  }
  return result;
}

bool fits(const std::vector<std::string>& path, const Request& request, std::vector<std::string>& names) {
  if (path.size() != request.segments.size()) return false;
  names.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i].starts_with('{')) {
      names.push_back(request.segments[i]);
    } else if (path[i] != request.segments[i]) {
      return false;
    }
  }
  return true;
}

// "[::1]:8080" → "[::1]"
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == host.npos || (bracket != host.npos && colon < bracket)) return host;
  return host.substr(0, colon);
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace

void Router::add(const char* method, const char* path, Handler handler, std::optional<Right> right) {
  routes_.push_back({method, pieces(path), std::move(handler), right});
  descriptions_.push_back({method, path, right});
}

Caller Router::caller_of(const Request& request) const {
  if (!services_.keys || (!services_.keys->any() && services_.options.open_without_keys)) return {};
  constexpr std::string_view kBearer = "bearer ";
  std::string_view secret = request.header("x-api-key");
  const std::string_view authorization = request.header("authorization");
  if (authorization.size() > kBearer.size() &&
      contains_ignoring_case(authorization.substr(0, kBearer.size()), kBearer))
    secret = authorization.substr(kBearer.size());
  if (const auto caller = services_.keys->find(secret); caller && !secret.empty()) return *caller;
  throw ApiError{401,
                 "invalid_api_key",
                 "a key is needed: Authorization: Bearer …",
                 "",
                 {{"WWW-Authenticate", "Bearer"}}};
}

void Router::check_origin(const Request& request) const {
  const auto listed = [](const std::vector<std::string>& list, std::string_view value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  std::string host(request.header("host"));  // has no case
  for (char& c : host) c = lower(c);
  if (!is_this_machine(without_port(host)) && !listed(services_.options.hosts, without_port(host)))
    throw ApiError{403, "host_not_allowed",
                   fmt::format("this server is not called {:?}; --allow-host lets it be", host)};
  const std::string_view origin = request.header("origin");
  if (origin.empty() || origin == fmt::format("http://{}", host) || origin == fmt::format("https://{}", host))
    return;
  if (!listed(services_.options.origins, origin))
    throw ApiError{403, "origin_not_allowed",
                   "pages of another origin may not call this server; --allow-origin lets one"};
}

void Router::handle(const std::shared_ptr<Exchange>& exchange) const {
  const std::string_view origin = exchange->request.header("origin");
  if (!origin.empty()) exchange->extra_headers = {{"Vary", "Origin"}};
  try {
    check_origin(exchange->request);
    if (!origin.empty())
      exchange->extra_headers.emplace_back("Access-Control-Allow-Origin", std::string(origin));
    route(exchange, nullptr);
  } catch (...) {
    report({exchange, {}}, std::current_exception());
  }
}

void Router::handle_for(const std::shared_ptr<Exchange>& exchange, const Caller& caller) const {
  try {
    route(exchange, &caller);
  } catch (...) {
    report({exchange, {}}, std::current_exception());
  }
}

void Router::route(const std::shared_ptr<Exchange>& exchange, const Caller* known) const {
  const Request& request = exchange->request;
  if (request.method == "OPTIONS" && !request.header("origin").empty())
    return exchange->reply({.status = 204,
                            .type = "",
                            .headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
                                        {"Access-Control-Allow-Headers",
                                         "authorization, content-type, idempotency-key, x-mplus-memory"},
                                        {"Access-Control-Max-Age", "600"}}});
  std::vector<std::string> names;
  std::string allowed;
  for (const Route& route : routes_) {
    if (!fits(route.path, request, names)) continue;
    if (route.method == request.method || (request.method == "HEAD" && route.method == "GET")) {
      Call call{exchange, names};
      if (route.right) call.caller = known ? *known : caller_of(request);
      if (route.right && !call.caller.may(*route.right))
        throw ApiError{403, "not_allowed",
                       fmt::format("this key has not the right \"{}\"", right_name(*route.right))};
      if (services_.store.read_only() && route.method != "GET" &&
          route.right.value_or(Right::read) != Right::read)
        throw read_only_error();
      if (route.method == "POST" && idempotency_.answer(call)) return;
      return route.handler(std::move(call));
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (allowed.empty()) throw ApiError{404, "not_found", fmt::format("there is no {:?} here", request.path)};
  throw ApiError{
      405, "method_not_allowed", fmt::format("only {} is possible here", allowed), "", {{"Allow", allowed}}};
}

}  // namespace mplus::serve
