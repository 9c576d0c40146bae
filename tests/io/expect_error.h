// EXPECT_MPLUS_ERROR(code, {"part", …}, statement): the statement throws Error with this code, and its
// message holds every part. The parts are the file, field and values a reader of the message needs, not its
// wording.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "mplus/core/error.h"

namespace mplus::io::test {

template <class F>
void expect_error(ErrorCode code, std::initializer_list<std::string> parts, F&& f, const char* file,
                  int line) {
  SCOPED_TRACE(std::string(file) + ":" + std::to_string(line));
  try {
    f();
  } catch (const Error& e) {
    EXPECT_STREQ(error_code_name(e.code()), error_code_name(code)) << e.what();
    for (const std::string& part : parts)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos)
          << "\"" << part << "\" is missing in: " << e.what();
    return;
  }
  ADD_FAILURE() << "no error was thrown";
}

}  // namespace mplus::io::test

#define EXPECT_MPLUS_ERROR(code, parts, ...) \
  ::mplus::io::test::expect_error(           \
      code, MPLUS_PARTS parts, [&] { __VA_ARGS__; }, __FILE__, __LINE__)
#define MPLUS_PARTS(...) \
  { __VA_ARGS__ }
