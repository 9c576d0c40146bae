// Where the time of a stage's steps goes: every kernel of some steps, by name (torch's profiler). On a CPU:
// torch's operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "mplus/train/run/run_log.h"
#include "mplus/train/torch.h"

namespace mplus::train {

class Profile {
 public:
  // Of so many steps, none where 0; the first ones of a stage are left out.
  Profile(torch::Device device, std::int64_t steps) : device_(device), steps_(steps) {}

  // Before every step, with the number of steps done since the stage began or was resumed: starts, or stops
  // and tells.
  void before_step(std::int64_t steps_done, const std::string& stage, RunLog& log);

 private:
  struct Cost {
    std::string name;
    double milliseconds = 0;
    std::int64_t calls = 0;
  };
  void start();
  std::vector<Cost> stop();  // since start, the largest first

  torch::Device device_;
  std::int64_t steps_;
  bool runs_ = false;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace mplus::train
