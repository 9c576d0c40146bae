#include "mplus/cli/output/print.h"

#include <cerrno>
#include <cstring>

#include "mplus/cli/output/terminal.h"

namespace mplus::cli {

OutputLost::OutputLost(int error)
    : std::runtime_error(fmt::format("standard output: cannot write: {}", std::strerror(error))),
      reader_gone_(error == EPIPE) {}

void put(std::string_view text) {
  if (const int error = write_to_output(text); error != 0) throw OutputLost(error);
}

void warn(std::string_view message) { note("mplus: note: {}\n", printable(message)); }

}  // namespace mplus::cli
