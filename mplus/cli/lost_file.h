// A model, a memory file or a segment that another program cuts short while it is mapped: the program says
// which and ends with exit code 1, instead of dying of SIGBUS. What was acknowledged is in the store; the
// rest is as after a kill.
#pragma once

namespace mplus::cli {

void report_lost_files();  // from now on, in every thread

}  // namespace mplus::cli
