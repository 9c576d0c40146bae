#include "mplus/memory/recall/search/estimate_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace mplus::memory {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Scores that follow from estimates but for normal noise; every `every`-th is known, and is the sample.
struct Chunks {
  Chunks(std::size_t n, std::size_t every, double noise, double outliers = 0) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    std::bernoulli_distribution is_outlier(outliers);
    for (std::size_t i = 0; i < n; ++i) {
      estimate.push_back(normal(random));
      all.push_back(3 + 2 * estimate[i] + noise * normal(random) * (is_outlier(random) ? 20 : 1));
      exact.push_back(i % every == 0 ? all[i] : kNone);
      if (i % every == 0) sample.push_back(i);
    }
  }
  std::vector<double> estimate, all, exact;
  std::vector<std::size_t> sample;
};

TEST(EstimateFit, WithoutNoiseAFewScoresTellAll) {
  const Chunks chunks(100, 20, 0);
  const EstimateFit fit = fit_estimates(chunks.estimate, chunks.exact, chunks.sample);
  EXPECT_NEAR(fit.a, 3, 1e-12);
  EXPECT_NEAR(fit.b, 2, 1e-12);
  EXPECT_NEAR(fit.spread.sd, spread_of(chunks.all).sd, 1e-12);
  EXPECT_NEAR(fit.doubt(), 0, 1e-12);
  EXPECT_DOUBLE_EQ(fit.unknown, 0.95);
}

TEST(EstimateFit, SpreadHasWhatEstimatesLeaveOut) {
  const Chunks chunks(20000, 40, 3);
  const EstimateFit fit = fit_estimates(chunks.estimate, chunks.exact, chunks.sample);
  const double sd = spread_of(chunks.all).sd;  // √(2² + 3²)
  EXPECT_NEAR(fit.residue, 9, 1);
  EXPECT_NEAR(fit.spread.sd, sd, 0.05 * sd);
  // The error is of the size that `doubt` expects for a sample of 500.
  EXPECT_NEAR(std::log(fit.spread.sd / sd), 0, 3 * fit.doubt() / std::sqrt(500));
}

TEST(EstimateFit, FewChunksFarFromAllOthersAreDoubtful) {
  const Chunks even(20000, 40, 1), uneven(20000, 40, 1, 0.01);
  const double doubt = fit_estimates(even.estimate, even.exact, even.sample).doubt();
  EXPECT_GT(fit_estimates(uneven.estimate, uneven.exact, uneven.sample).doubt(), 3 * doubt);
}

TEST(EstimateFit, WhatIsKnownCountsAsItIs) {
  const Chunks chunks(50, 1, 2);
  const EstimateFit fit = fit_estimates(chunks.estimate, chunks.exact, chunks.sample);
  std::vector<double> z = chunks.all;
  standardise(z, spread_of(z));
  EXPECT_EQ(fit.z, z);
  EXPECT_EQ(fit.unknown, 0);
  EXPECT_EQ(fit.missing(), 0);
}

TEST(EstimateFit, NothingToGoBy) {
  EXPECT_TRUE(fit_estimates({}, {}, {}).z.empty());
  const std::vector<double> estimate{0.25, kNone, 0.5}, exact(3, kNone);
  const EstimateFit fit = fit_estimates(estimate, exact, {});
  EXPECT_LT(fit.z[0], fit.z[2]);  // as estimated
  EXPECT_TRUE(std::isnan(fit.z[1]));
  EXPECT_EQ(fit.doubt(), 0);
}

}  // namespace
}  // namespace mplus::memory
