// When to end long work: somebody asks for it, or its time is over. Looked at between steps: before a chunk,
// a block of a prompt, a token. A deadline in the past means that nothing is done at all.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include "mplus/core/stop.h"

namespace mplus::engine {

struct Until {
  using Clock = std::chrono::steady_clock;

  Until() = default;
  Until(StopFlag asked) : flag(asked) {}  // NOLINT(google-explicit-constructor): a flag is the plainest one
  Until(std::stop_token asked) : stop(std::move(asked)) {}  // NOLINT(google-explicit-constructor)
  Until(Clock::time_point end) : deadline(end) {}           // NOLINT(google-explicit-constructor)

  bool reached() const {
    return stop_requested(flag) || stop.stop_requested() || (deadline && Clock::now() >= *deadline);
  }

  // What a signal handler can set. Work that nobody shares looks at it before every layer, too.
  StopFlag flag = nullptr;
  std::stop_token stop;
  std::optional<Clock::time_point> deadline;
};

}  // namespace mplus::engine
