// How long a run has taken, with what it took before it was resumed.
#pragma once

#include "mplus/core/clock.h"

namespace mplus::train {

struct RunClock {
  Clock::time_point start = Clock::now();
  double seconds_before = 0;

  double seconds_here() const { return seconds_since(start); }  // in this process
  double seconds() const { return seconds_before + seconds_here(); }
};

}  // namespace mplus::train
