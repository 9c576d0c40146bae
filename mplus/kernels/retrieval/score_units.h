// Scores as whole numbers, whose sums do not depend on an order. Kernels of every device read this.
#pragma once

#include <cmath>
#include <cstdint>

namespace mplus::kernels {

inline constexpr float kScoreUnits = 0x1p40f;    // in a score of 1
inline constexpr float kLargestScore = 0x1p20f;  // scores are at most 1; what is no number counts as 0

inline std::int64_t score_units(float score) {
  return std::abs(score) < kLargestScore ? static_cast<std::int64_t>(score * kScoreUnits) : 0;
}
// The mean of so many rows, from their sum.
inline double mean_of_units(std::int64_t sum, std::int64_t rows) {
  return static_cast<double>(sum) / static_cast<double>(rows) / double{kScoreUnits};
}

inline constexpr std::int64_t kNoBirth = INT64_MIN;  // of a row that is not there

}  // namespace mplus::kernels
