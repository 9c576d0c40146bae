// A failure as a client sees it: {"error": {"message", "type", "code", "param"}}.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "mplus/serve/http/message.h"

namespace mplus::serve {

struct ApiError {
  int status = 400;
  std::string code;
  std::string message;
  std::string param = {};  // the field it is about
  Headers headers = {};
};

// What a failure is called outside: an ApiError as it stands, errors of the engine and the store by their
// codes, others as ours, without their text.
ApiError as_api_error(const std::exception_ptr& failure);
ApiError read_only_error();  // the store cannot be written
std::string error_json(const ApiError& error);
Reply error_reply(const ApiError& error);

}  // namespace mplus::serve
