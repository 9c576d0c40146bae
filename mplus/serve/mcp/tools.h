// The tools an assistant sees, and the request of the HTTP API that each stands for.
#pragma once

#include <string_view>

#include "mplus/serve/http/message.h"
#include "mplus/serve/json.h"

namespace mplus::serve {

struct Tool {
  const char* name;
  const char* title;
  const char* description;
  // Hints: it changes nothing; what it changes cannot be undone; twice is the same as once.
  bool reads_only, destroys, idempotent;
  Json (*properties)();
  std::vector<const char*> required;
  Request (*request)(const Json& arguments);  // throws ApiError
};

const Tool* find_tool(std::string_view name);  // null: there is none
Json tools_json();

}  // namespace mplus::serve
