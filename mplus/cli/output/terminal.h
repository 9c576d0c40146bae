// What standard output and standard error are connected to, and text made fit for them. Colours appear on a
// terminal only, and not where NO_COLOR is set or TERM is "dumb".
#pragma once

#include <string>
#include <string_view>

namespace mplus::cli {

enum class Style { plain, bold, dim, red, green };

struct Terminal {
  bool is_terminal = false;
  bool colours = false;
  int width = 100;  // columns; of a terminal its own

  std::string styled(Style style, std::string_view text) const;
};
Terminal standard_output();
Terminal standard_error();

// Text from files and models: control characters (line breaks and tabs aside) and bytes that are no UTF-8 are
// escaped, so that none of it can command a terminal.
std::string printable(std::string_view text);

// The same on one line, white space runs as one space, cut to at most `width` columns with an ellipsis.
std::string one_line(std::string_view text, int width);

int columns(std::string_view text);  // a terminal needs to show this text

}  // namespace mplus::cli
