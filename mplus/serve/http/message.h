// A request and a reply as the rest of the server sees them; how they travel is http/server.h.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mplus::serve {

struct Request {
  std::string method = {};                          // upper case
  std::string path = {};                            // decoded, without the query
  std::vector<std::string> segments = {};           // of the path, each decoded: a name may hold a slash
  std::map<std::string, std::string> query = {};    // decoded; of equal names the last
  std::map<std::string, std::string> headers = {};  // names in lower case; of equal names joined by ", "
  std::string body = {};
  std::string id = {};  // x-request-id: the client's own, or a new one

  std::string_view header(const std::string& name) const {
    const auto at = headers.find(name);
    return at == headers.end() ? std::string_view() : std::string_view(at->second);
  }
  std::optional<std::string> asked(const std::string& name) const {  // of the query
    const auto at = query.find(name);
    return at == query.end() ? std::nullopt : std::optional(at->second);
  }
};

using Headers = std::vector<std::pair<std::string, std::string>>;

// The next piece of a body that is too large to be held whole; empty: that was all. Called on the
// connections' thread. What it throws breaks the reply off.
using PieceSource = std::function<std::string()>;

struct Reply {
  int status = 200;
  std::string body = {};
  std::string type = "application/json";
  Headers headers = {};
  PieceSource pieces = {};  // in place of `body`
};

// "/a%20b?x=1" → path and query. False: it is no path, or badly encoded.
bool parse_target(std::string_view target, Request& request);

// A form's first file, or its field `text` (multipart/form-data).
struct FormFile {
  std::string name, type, bytes;
};
std::optional<FormFile> form_file(std::string_view content_type, std::string_view body);

}  // namespace mplus::serve
