// Which part of a step's work is this process's: a range of it, the same for every process that asks.
#pragma once

#include <cstdint>

namespace mplus::train {

struct Share {
  std::int64_t process = 0, processes = 1;

  // Of n things, those from first(n) to before end(n).
  std::int64_t first(std::int64_t n) const { return n * process / processes; }
  std::int64_t end(std::int64_t n) const { return n * (process + 1) / processes; }
};

}  // namespace mplus::train
