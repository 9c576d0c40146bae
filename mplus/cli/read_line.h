// Lines from standard input.
#pragma once

#include <string>

namespace mplus::cli {

// A line without its end; false when there is none, also after Ctrl-C.
bool read_line(std::string& line);

}  // namespace mplus::cli
