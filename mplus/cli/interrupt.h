// Ctrl-C and SIGTERM while an Interrupt lives: the first asks the work in progress to stop (what is done is
// kept and saved), the second ends the program at once. One at a time, made by the main thread.
#pragma once

#include <atomic>

namespace mplus::cli {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const { return flag().load(); }
  const std::atomic<bool>& flag() const;
  void clear();  // the request was served; the next one is a first one again
};

}  // namespace mplus::cli
