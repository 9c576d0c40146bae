#include "mplus/core/error.h"

#include <cstdio>
#include <cstdlib>

namespace mplus {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::io:
      return "io";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::model_mismatch:
      return "model_mismatch";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::out_of_capacity:
      return "out_of_capacity";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown";
}

void check_failed(const char* file, int line, const char* condition, const std::string& values) {
  std::fprintf(stderr, "mplus: internal error at %s:%d: %s: %s\n", file, line, condition, values.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace mplus
