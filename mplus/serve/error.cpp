#include "mplus/serve/error.h"

#include <spdlog/spdlog.h>

#include "mplus/core/error.h"
#include "mplus/serve/json.h"

namespace mplus::serve {
namespace {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
      return 400;
    case ErrorCode::model_mismatch:
      return 409;
    case ErrorCode::out_of_capacity:
      return 413;
    case ErrorCode::cancelled:
      return 499;
    case ErrorCode::io:
      return 503;
    case ErrorCode::corrupt:
      return 500;
  }
  return 500;
}

}  // namespace

ApiError as_api_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const ApiError& error) {
    return error;
  } catch (const Error& error) {
    return {status_of(error.code()), error_code_name(error.code()), error.what()};
  } catch (const std::bad_alloc&) {
    return {503, "out_of_memory", "there is not enough memory for this request"};
  } catch (const std::exception& error) {
    spdlog::error("unexpected: {}", error.what());
  } catch (...) {
    spdlog::error("unexpected failure");
  }
  return {500, "internal_error", "something unexpected went wrong; the server's log has more"};
}

ApiError read_only_error() {
  return {503, "read_only", "the store cannot be written here: memories can be read, and nothing is kept"};
}

std::string error_json(const ApiError& error) {
  const char* type = error.status == 401   ? "authentication_error"
                     : error.status == 403 ? "permission_error"
                     : error.status == 429 ? "rate_limit_error"
                     : error.status >= 500 ? "server_error"
                                           : "invalid_request_error";
  return dump({{"error",
                {{"message", error.message},
                 {"type", type},
                 {"code", error.code},
                 {"param", error.param.empty() ? Json() : Json(error.param)}}}});
}

Reply error_reply(const ApiError& error) {
  return {.status = error.status, .body = error_json(error), .headers = error.headers};
}

}  // namespace mplus::serve
