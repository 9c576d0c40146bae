// Running another program and waiting for it.
#pragma once

#include <string>
#include <vector>

namespace mplus::cli {

// The exit status of a program found on PATH; what it prints goes to standard error. 127 where it cannot be
// started, 128 + the signal's number where one ended it.
int run_child(const std::vector<std::string>& command, bool quiet = false);

}  // namespace mplus::cli
