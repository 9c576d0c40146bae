#include "mplus/kernels/retrieval/best_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "mplus/kernels/cpu/ops/operations.h"

namespace mplus::kernels::cpu {

void best_scores(const BestScores& out, const ConstTensor& scores, std::int64_t wanted) {
  const float* all = scores.on_host<float>();
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < scores.elements(); ++i)
    if (!std::isnan(all[i])) numbers.push_back(all[i]);
  float least = -std::numeric_limits<float>::infinity();
  if (wanted < std::ssize(numbers)) {
    std::nth_element(numbers.begin(), numbers.begin() + wanted - 1, numbers.end(), std::greater<>());
    least = numbers[static_cast<std::size_t>(wanted) - 1];
  }
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < scores.elements(); ++i) {
    if (!(all[i] >= least)) continue;
    if (count < out.places.elements()) {
      out.places.on_host<std::int32_t>()[count] = static_cast<std::int32_t>(i);
      out.values.on_host<float>()[count] = all[i];
    }
    ++count;
  }
  *out.count.on_host<std::int64_t>() = count;
}

}  // namespace mplus::kernels::cpu
