#include "mplus/train/evaluation/attempts.h"

#include <algorithm>
#include <functional>

#include "mplus/train/gpu/upload.h"

namespace mplus::train {

Tensor Attempts::at(std::size_t attempt, torch::Device device) const {
  std::vector<std::int64_t> out;
  for (const auto& own : chunks) out.push_back(own[std::min(attempt, own.size() - 1)]);
  return upload(out, {std::ssize(out), 1}, torch::kInt64, device);
}

Attempts attempts_of(const Tensor& order, const Tensor& chosen, const Tensor& behind,
                     const std::vector<std::int64_t>& given, std::int64_t most) {
  const Tensor best = order.narrow(1, 0, std::min(most, order.size(1))).to(torch::kCPU).contiguous();
  const Tensor counts = chosen.to(torch::kCPU, torch::kInt64).contiguous();
  const Tensor lags = behind.to(torch::kCPU, torch::kFloat64).contiguous();
  Attempts attempts;
  for (std::int64_t q = 0; q < best.size(0); ++q) {
    const std::int64_t* row = best.const_data_ptr<std::int64_t>() + q * best.size(1);
    const std::int64_t n =
        std::clamp<std::int64_t>(counts.const_data_ptr<std::int64_t>()[q], 1, best.size(1));
    std::vector<std::int64_t>& own = attempts.chunks.emplace_back(row, row + n);
    const std::int64_t in_place = std::min(n, given[static_cast<std::size_t>(q)]);
    std::sort(own.begin() + in_place, own.end(), std::greater<>());
    std::vector<double>& lag = attempts.behind.emplace_back(own.size(), 0.0);
    for (auto i = static_cast<std::size_t>(in_place); i < own.size(); ++i)
      lag[i] = lags.const_data_ptr<double>()[q * lags.size(1) + own[i]];
    attempts.most = std::max(attempts.most, own.size());
  }
  return attempts;
}

}  // namespace mplus::train
