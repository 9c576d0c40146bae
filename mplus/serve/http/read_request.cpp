#include "mplus/serve/http/read_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "mplus/core/text.h"

namespace mplus::serve {
namespace {

// A client's own id comes back in a header and stands in logs.
bool is_id(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

std::string new_request_id() {
  static std::mt19937_64 random{std::random_device{}()};  // one thread
  return fmt::format("req-{:016x}", random());
}

// Beast has checked the grammar by now; what is left is what its leniency lets through.
std::optional<Request> read_request(boost::beast::http::request<boost::beast::http::string_body>& message) {
  Request request;
  request.method = std::string(message.method_string());
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = lower(c);
    std::string& value = request.headers[name];
    if (!value.empty()) value += ", ";
    value += std::string(field.value());
  }
  const std::string_view own = request.header("x-request-id");
  request.id = is_id(own, 128) ? std::string(own) : new_request_id();
  if (!parse_target({message.target().data(), message.target().size()}, request)) return std::nullopt;
  request.body = std::move(message.body());
  return request;
}

}  // namespace mplus::serve
