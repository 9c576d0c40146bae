// How many rows of prompts a step takes beside tokens that somebody waits for: as many as keep it within a
// time, by what the steps so far took. Machines differ, and so do models and memories.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mplus::serve {

class PromptBudget {
 public:
  explicit PromptBudget(double step_seconds) : step_seconds_(step_seconds) {}

  std::int64_t rows() const {
    const double rows = (step_seconds_ - tokens_seconds_) / row_seconds_;
    return static_cast<std::int64_t>(std::clamp(rows, kFewest, kMost));
  }

  // A step with tokens is over, and read so many rows of prompts beside them.
  void note(std::int64_t rows, double seconds) {
    if (rows == 0) learn(tokens_seconds_, seconds);
    else learn(row_seconds_, std::max(seconds - tokens_seconds_, 0.0) / static_cast<double>(rows));
  }

 private:
  static constexpr double kFewest = 32, kMost = 512;
  static void learn(double& known, double seen) { known += 0.25 * (seen - known); }

  double step_seconds_;
  double tokens_seconds_ = 0;   // of a step without prompts
  double row_seconds_ = 0.001;  // more for each row
};

}  // namespace mplus::serve
