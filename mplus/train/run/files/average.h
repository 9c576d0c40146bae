// The average of deltas that went on from one another. What each of them learned by chance falls out, what
// they share stays: docs/recipes.md, "Averages".
#pragma once

#include <filesystem>
#include <vector>

namespace mplus::train {

struct AverageOptions {
  std::vector<std::filesystem::path> deltas;  // two or more; settings and record are those of the last
  std::vector<double> weights;                // of each, in any unit; empty: all alike
  std::filesystem::path out;                  // bfloat16, like what training makes
};

void average_deltas(const AverageOptions& options);

}  // namespace mplus::train
