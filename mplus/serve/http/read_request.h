// A request as Beast has read it, as the rest of the server sees it.
#pragma once

#include <boost/beast/http.hpp>
#include <optional>
#include <string>

#include "mplus/serve/http/message.h"

namespace mplus::serve {

std::string new_request_id();  // on the connections' thread

// Nothing: its target is no path. The body is moved out of `message`.
std::optional<Request> read_request(boost::beast::http::request<boost::beast::http::string_body>& message);

}  // namespace mplus::serve
