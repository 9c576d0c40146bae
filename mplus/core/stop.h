// Asks long work to stop. Set by a signal handler or another thread; whoever works looks at it often.
#pragma once

#include <atomic>

#include "mplus/core/error.h"

namespace mplus {

using StopFlag = const std::atomic<bool>*;  // null: nobody can ask

inline bool stop_requested(StopFlag stop) { return stop && stop->load(std::memory_order_relaxed); }

inline void end_if_stopped(StopFlag stop) {
  if (stop_requested(stop)) fail(ErrorCode::cancelled, "stopped on request");
}

}  // namespace mplus
