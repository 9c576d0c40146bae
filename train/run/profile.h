// Where a step's time goes: every kernel of some steps, by name (torch's profiler). On a CPU: torch's
// operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mplus/train/torch.h"

namespace mplus::train {

class Profile {
 public:
  explicit Profile(torch::Device device);

  void start();
  struct Cost {
    std::string name;
    double milliseconds = 0;
    std::int64_t calls = 0;
  };
  std::vector<Cost> stop();  // since start, the largest first

 private:
  torch::Device device_;
};

}  // namespace mplus::train
