#include "mplus/cli/lost_file.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "mplus/cli/commands/command.h"
#include "mplus/core/files/file.h"
#include "mplus/core/files/standard_streams.h"

namespace mplus::cli {
namespace {

// Only what a signal handler may call.
extern "C" void on_bus_error(int, siginfo_t* info, void*) {
  const char* path = mapped_file_at(info->si_addr);
  if (!path) {  // no file of ours: the instruction runs again and ends the program as it would have
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  write_to_errors("mplus: ");
  write_to_errors(path);
  write_to_errors(
      ": was cut short while it was in use, or its disk fails; what was reported as done is kept. "
      "Put the whole file back and run the command again\n");
  ::_exit(kFailed);
}

}  // namespace

void report_lost_files() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace mplus::cli
