// How long a run has taken, with what it took before it was resumed.
#pragma once

#include <chrono>

namespace mplus::train {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct RunClock {
  Clock::time_point start = Clock::now();
  double seconds_before = 0;

  double seconds_here() const { return seconds_since(start); }  // in this process
  double seconds() const { return seconds_before + seconds_here(); }
};

}  // namespace mplus::train
