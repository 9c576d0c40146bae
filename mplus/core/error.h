// Errors, three kinds. Our own bug: MPLUS_CHECK, always on, aborts with the values. An operation that cannot
// go on (file, configuration, disk): throw Error with a code. An expected outcome: a returned value, not an
// error. Nothing in the program matches on message text; callers look at the code.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace mplus {

enum class ErrorCode {
  not_found,         // a file, tensor or name that was asked for is not there
  io,                // the operating system refused: permissions, disk full, short read
  corrupt,           // a file contradicts itself or its format: truncated, lying sizes, bad checksum
  unsupported,       // well-formed, but of a kind or version this program does not handle
  model_mismatch,    // made for another model: shapes, tokenizer or weights differ
  invalid_argument,  // the caller's value makes no sense
  out_of_capacity,   // a stated limit would be passed: context, memory, address space
  cancelled,         // stopped on request
};

const char* error_code_name(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// Throws Error with a formatted message: what, where, expected, found, what to do.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& values);

}  // namespace mplus

// MPLUS_CHECK(condition, "format", values…): an invariant of this program; aborts when broken.
#define MPLUS_CHECK(condition, ...)                                                                    \
  do {                                                                                                 \
    if (!(condition)) ::mplus::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
