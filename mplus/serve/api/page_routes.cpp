// What a browser gets: the page and nothing from elsewhere.
#include <fmt/core.h>

#include "mplus/io/text/hash.h"
#include "mplus/serve/api/router.h"
#include "mplus/serve/embedded.h"

namespace mplus::serve {
namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char* media_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

void send(const Call& call, std::string_view name) {
  for (const EmbeddedFile& file : page_files()) {
    if (file.name != name) continue;
    const std::string tag =
        fmt::format("\"{}\"", io::sha256_hex(std::as_bytes(std::span(file.bytes))).substr(0, 16));
    const Headers headers{{"Content-Security-Policy", kPolicy},
                          {"X-Content-Type-Options", "nosniff"},
                          {"Referrer-Policy", "no-referrer"},
                          {"Cache-Control", "no-cache"},
                          {"ETag", tag}};
    if (call.request().header("if-none-match") == tag)
      return call.exchange->reply({.status = 304, .type = "", .headers = headers});
    return call.exchange->reply(
        {.body = std::string(file.bytes), .type = media_type(name), .headers = headers});
  }
  throw ApiError{404, "not_found", "there is no such file"};
}

}  // namespace

void add_page_routes(Router& router) {
  // The page itself is no secret; what it asks for is.
  router.add(
      "GET", "/", [](const Call& call) { send(call, "index.html"); }, std::nullopt);
  router.add(
      "GET", "/page/{file}", [](const Call& call) { send(call, call.names[0]); }, std::nullopt);
}

}  // namespace mplus::serve
