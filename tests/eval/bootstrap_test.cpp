#include "mplus/eval/metric/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mplus::eval {
namespace {

TEST(Bootstrap, OfEqualValuesIsAPoint) {
  Values values;
  for (const char* id : {"a", "b", "c"}) values.add(id, 0.25);
  const Interval i = values.interval();
  EXPECT_DOUBLE_EQ(i.mean, 0.25);
  EXPECT_DOUBLE_EQ(i.low, 0.25);
  EXPECT_DOUBLE_EQ(i.high, 0.25);
  EXPECT_EQ(i.values, 3);
}

TEST(Bootstrap, MatchesTheNormalIntervalOfManyCoins) {
  Values values;
  for (int q = 0; q < 400; ++q) values.add(std::to_string(q), q % 2);
  const Interval i = values.interval();
  EXPECT_DOUBLE_EQ(i.mean, 0.5);
  const double half = 1.96 * 0.5 / std::sqrt(400.0);
  EXPECT_NEAR(i.low, 0.5 - half, 0.01);
  EXPECT_NEAR(i.high, 0.5 + half, 0.01);
}

// Ten copies of a question say no more than one: the interval must not shrink.
TEST(Bootstrap, ValuesOfOneQuestionAreDrawnTogether) {
  Values once, often;
  for (int q = 0; q < 40; ++q) {
    once.add(std::to_string(q), q % 2);
    for (int n = 0; n < 10; ++n) often.add(std::to_string(q), q % 2);
  }
  EXPECT_DOUBLE_EQ(once.interval().low, often.interval().low);
  EXPECT_EQ(often.interval().values, 400);
  EXPECT_EQ(often.interval().questions, 40);
}

TEST(Bootstrap, PairsSeeWhatMeansHide) {
  PairedValues pairs, same;
  for (int q = 0; q < 60; ++q) {
    const double easy = q % 2;
    pairs.add(std::to_string(q), easy, q % 10 == 0 ? easy + 1 : easy);  // six questions better, none worse
    same.add(std::to_string(q), easy, 1 - easy);
  }
  const auto better = pairs.difference();
  EXPECT_NEAR(better.difference.mean, 0.1, 1e-12);
  EXPECT_GT(better.difference.low, 0.0);
  EXPECT_LT(better.p, 0.05);
  const auto none = same.difference();
  EXPECT_LT(none.difference.low, 0.0);
  EXPECT_GT(none.difference.high, 0.0);
  EXPECT_GT(none.p, 0.5);
  EXPECT_EQ(PairedValues{}.difference().difference.values, 0);
}

}  // namespace
}  // namespace mplus::eval
