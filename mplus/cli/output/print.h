// What a command was asked for, on its way to standard output. Messages go to standard error by
// mplus::note(). Nothing else in the program prints.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "mplus/core/files/standard_streams.h"

namespace mplus::cli {

// Standard output takes no more. No Error: what catches those to go on (a chat) must end here.
class OutputLost : public std::runtime_error {
 public:
  explicit OutputLost(int error);
  bool reader_gone() const { return reader_gone_; }  // `mplus … | head`: nothing to complain about

 private:
  bool reader_gone_;
};

void put(std::string_view text);      // throws OutputLost
void warn(std::string_view message);  // "mplus: note: …", fit for a terminal

}  // namespace mplus::cli
