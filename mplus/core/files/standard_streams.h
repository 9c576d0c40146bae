// Standard output and standard error of the project's programs. Nothing here throws: whether anybody reads a
// message does not decide whether work goes on.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace mplus {

// To be called before a program opens files. A standard stream that is closed (`>&-`) would lend its number
// to the next file that is opened, which then got what is printed: it is held open, and writing to it fails.
void hold_standard_streams();

// All of the text, also where it is taken in pieces; returns 0, or the errno of what stopped it.
int write_to_output(std::string_view text) noexcept;
void write_to_errors(std::string_view text) noexcept;  // a message nobody can read is lost

// A message on standard error.
template <class... Args>
void note(fmt::format_string<Args...> format, Args&&... args) {
  write_to_errors(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace mplus
