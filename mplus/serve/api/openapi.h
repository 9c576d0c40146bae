// The server described for programs (OpenAPI 3.1), at /openapi.json.
#pragma once

#include <string>

#include "mplus/serve/api/router.h"

namespace mplus::serve {

// The last route: those before it are described. A route that openapi/*.json does not describe, or a
// description without a route, ends the program: what is served and what is described is the same.
void add_openapi_route(Router& router, const std::string& version);

}  // namespace mplus::serve
