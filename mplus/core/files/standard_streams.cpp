#include "mplus/core/files/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace mplus {
namespace {

int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // another program made the terminal or pipe so
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one. Opened the other way round, so that its use fails as it did.
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int write_to_output(std::string_view text) noexcept { return write_all(STDOUT_FILENO, text); }
void write_to_errors(std::string_view text) noexcept { write_all(STDERR_FILENO, text); }

}  // namespace mplus
