#include "mplus/train/run/stages/loss_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace mplus::train {

LossWatch::LossWatch(torch::Device device)
    : mean_(torch::zeros({}, torch::TensorOptions(device).dtype(torch::kFloat32))),
      least_(torch::full_like(mean_, std::numeric_limits<float>::infinity())),
      lost_at_(torch::full({}, -1, torch::TensorOptions(device).dtype(torch::kInt64))) {}

void LossWatch::see(std::int64_t step, const Tensor& loss, const Tensor& norm) {
  const torch::NoGradGuard constant;
  const Tensor sound = torch::isfinite(loss) & torch::isfinite(norm);
  lost_at_ = torch::where(sound | (lost_at_ >= 0), lost_at_, step);
  ++seen_;
  const double weight = 1 / static_cast<double>(std::min(seen_, kSpan));
  mean_ = mean_ + weight * (loss.detach().to(torch::kFloat32) - mean_);
  if (seen_ >= kSpan) least_ = torch::minimum(least_, mean_);
}

std::string LossWatch::trouble(Processes* processes) const {
  // Gradients are summed over the processes: what is no number in one is none in all.
  if (const auto step = lost_at_.item<std::int64_t>(); step >= 0)
    return fmt::format("at step {} the loss or its gradient is no number any more", step + 1);
  const Tensor sums = sum_over(processes, torch::stack({mean_, least_}));
  const double mean = sums[0].item<double>(), least = sums[1].item<double>();
  if (seen_ <= kSpan || mean <= kTimes * least + kBeyond) return {};
  return fmt::format("the loss explodes: {:.3g} in the mean of {} steps, and was {:.3g}", mean, kSpan, least);
}

}  // namespace mplus::train
