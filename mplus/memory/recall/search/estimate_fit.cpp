#include "mplus/memory/recall/search/estimate_fit.h"

#include <cmath>

namespace mplus::memory {
namespace {

// Least squares; with no points estimates are taken as they are.
void fit_line(EstimateFit& fit, std::span<const double> estimate, std::span<const double> exact,
              std::span<const std::size_t> sample) {
  if (sample.empty()) return;
  const auto n = static_cast<double>(sample.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (const std::size_t slot : sample) {
    mean_x += estimate[slot] / n;
    mean_y += exact[slot] / n;
  }
  for (const std::size_t slot : sample) {
    const double x = estimate[slot] - mean_x, y = exact[slot] - mean_y;
    xx += x * x;
    xy += x * y;
  }
  fit.b = xx > 0 ? xy / xx : 0;
  fit.a = mean_y - fit.b * mean_x;
  std::vector<double> squares;
  for (const std::size_t slot : sample) {
    const double left = exact[slot] - fit.score(estimate[slot]);
    squares.push_back(left * left);
  }
  const Spread of_squares = spread_of(squares);
  fit.residue = of_squares.mean;
  fit.residue_sd = of_squares.sd;
}

}  // namespace

EstimateFit fit_estimates(std::span<const double> estimate, std::span<const double> exact,
                          std::span<const std::size_t> sample) {
  EstimateFit fit;
  fit_line(fit, estimate, exact, sample);
  fit.z.assign(exact.begin(), exact.end());
  double unknown = 0, chunks = 0;
  for (std::size_t slot = 0; slot < fit.z.size(); ++slot) {
    if (std::isnan(fit.z[slot]) && !std::isnan(estimate[slot])) {
      fit.z[slot] = fit.score(estimate[slot]);
      ++unknown;
    }
    chunks += std::isnan(fit.z[slot]) ? 0 : 1;
  }
  fit.unknown = chunks > 0 ? unknown / chunks : 0;
  fit.spread = spread_of(fit.z, fit.missing());
  standardise(fit.z, fit.spread);
  return fit;
}

}  // namespace mplus::memory
