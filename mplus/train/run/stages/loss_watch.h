// Whether a run still learns. Losses and norms of the gradients are kept on the device: seeing a step waits
// for nothing, only who wants to know does.
#pragma once

#include <cstdint>
#include <string>

#include "mplus/train/processes/processes.h"
#include "mplus/train/torch.h"

namespace mplus::train {

class LossWatch {
 public:
  explicit LossWatch(torch::Device device);

  // A step's loss, of several processes this one's part, and the norm of all gradients before clipping.
  void see(std::int64_t step, const Tensor& loss, const Tensor& norm);
  // What is wrong: a number that is none, or a mean loss of kSpan steps that is kTimes its least and kBeyond
  // nats more. Empty: nothing.
  std::string trouble(Processes* processes) const;

  static constexpr std::int64_t kSpan = 50;
  static constexpr double kTimes = 4, kBeyond = 1;

 private:
  std::int64_t seen_ = 0;
  Tensor mean_, least_;  // of the losses, over the last kSpan; the least such mean
  Tensor lost_at_;       // the first step with a number that is none; −1
};

}  // namespace mplus::train
