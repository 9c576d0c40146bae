// A long text written into one memory: how fast, whether it stays so, and what it takes on a device.
#pragma once

#include <cstdint>

#include "mplus/cli/bench/machine.h"
#include "mplus/engine/session.h"
#include "mplus/kernels/backend.h"

namespace mplus::cli {

struct LongWrite {
  double seconds = 0;
  Spread full = {};  // tok/s of each chunk once no slot is empty; zeros: it never came so far
  double first_rate = 0, last_rate = 0;  // tok/s of the first and the last kStretch tokens; 0: fewer than two
  kernels::MemoryUse middle = {}, end = {};  // of the device, half way and at the end
  static constexpr std::int64_t kStretch = 100'000;
};
// As one document into a new session.
LongWrite long_write(engine::Engine& engine, std::int64_t tokens);

}  // namespace mplus::cli
