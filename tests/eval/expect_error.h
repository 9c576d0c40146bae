// Checks that something throws our Error with a code and words in its message.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "mplus/core/error.h"

namespace mplus::eval {

template <class F>
void expect_error(ErrorCode code, std::initializer_list<std::string> words, const F& f) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    for (const std::string& word : words)
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

}  // namespace mplus::eval
