#include "mplus/core/numbers/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "mplus/core/numbers/philox.h"

namespace mplus {
namespace {

TEST(Odds, ArePowersOfTwo) {
  EXPECT_EQ(odds_of(0.0f, 1.0f), kBestOdds);
  EXPECT_EQ(odds_of(-1.0f, 1.0f), kBestOdds / 2);
  EXPECT_EQ(odds_of(-40.0f, 1.0f), 1u);
  EXPECT_EQ(odds_of(-41.0f, 1.0f), 0u);
  EXPECT_EQ(odds_of(-std::numeric_limits<float>::infinity(), 1.0f), 0u);
  EXPECT_EQ(odds_of(std::numeric_limits<float>::quiet_NaN(), 1.0f), 0u);
  EXPECT_EQ(odds_of(0.0f, 1e30f), kBestOdds);
  for (int i = 0; i < 40'000; ++i) {
    const float below = static_cast<float>(-i) * 0.001f;
    const double wanted = std::exp2(static_cast<double>(below)) * 0x1p40;
    EXPECT_NEAR(static_cast<double>(odds_of(below, 1.0f)), wanted, wanted * 0x1p-22 + 1);
  }
}

// The rule as it is written, on tokens that are all in order: which of them stay, and what they have
// together.
struct Kept {
  std::vector<std::uint64_t> odds;  // of every id, 0 where it is left out
  std::uint64_t total = 0;
};
Kept kept(const std::vector<float>& logits, const Choice& choice) {
  std::vector<std::size_t> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto value = [&](std::size_t i) {
    return std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return value(a) > value(b); });
  const ChoiceNumbers numbers(choice);
  const auto odds = [&](std::size_t i) {
    const std::uint64_t found = odds_of(logits[i] - logits[order[0]], numbers.octaves);
    return found >= numbers.least ? found : 0;
  };
  std::erase_if(order, [&](std::size_t i) { return odds(i) == 0; });
  if (choice.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(choice.top_k)));
  std::uint64_t all = 0, some = 0;
  for (const std::size_t i : order) all += odds(i);
  std::size_t n = 0;
  const std::uint64_t wanted = choice.top_p < 1.0f ? share_of_odds(choice.top_p, all) : all;
  while (some < wanted) some += odds(order[n++]);
  order.resize(n);
  Kept result{std::vector<std::uint64_t>(logits.size()), some};
  for (const std::size_t i : order) result.odds[i] = odds(i);
  return result;
}

std::vector<float> some_logits(std::mt19937& random, std::size_t n, int kind) {
  std::normal_distribution<float> bell(0, 3);
  std::vector<float> logits(n);
  for (float& x : logits) {
    x = bell(random);
    if (kind == 1) x = std::round(x);  // many equals
    if (kind == 2) x = 1.5f;
    if (kind == 3 && random() % 5 == 0) x = -std::numeric_limits<float>::infinity();
    if (kind == 3 && random() % 7 == 0) x = std::numeric_limits<float>::quiet_NaN();
  }
  if (kind == 3) logits[n / 2] = 2;
  return logits;
}

// Every token that stays has its share of the chances, in the order of ids: its first and its last are its
// own.
TEST(Choose, FollowsTheRule) {
  std::mt19937 random(5);
  ChoiceRoom room;
  for (const std::size_t vocab : {1u, 2u, 50u, 3000u})
    for (int round = 0; round < 60; ++round) {
      const std::vector<float> logits = some_logits(random, vocab, round % 4);
      Choice choice{.temperature = round % 3 == 0 ? 0.3f : 1.0f};
      if (round % 2 == 0) choice.top_k = static_cast<std::int64_t>(1 + random() % (vocab + 2));
      if (round % 5 < 3) choice.top_p = static_cast<float>(random() % 1000 + 1) / 1001;
      if (round % 7 == 0) choice.min_p = 0.05f;
      const Kept rule = kept(logits, choice);
      ASSERT_GT(rule.total, 0u);
      const long double step = 0x1p64L / static_cast<long double>(rule.total);
      std::uint64_t before = 0;
      for (std::size_t id = 0; id < vocab; ++id) {
        const std::uint64_t odds = rule.odds[id];
        if (odds == 0) continue;
        if (id % (vocab / 64 + 1) == 0)
          for (const std::uint64_t place : {before, before + odds / 2, before + odds - 1}) {
            choice.chance = static_cast<std::uint64_t>((static_cast<long double>(place) + 0.5L) * step);
            ASSERT_EQ(choose(logits, choice, room), static_cast<std::int64_t>(id)) << vocab << ", " << round;
          }
        before += odds;
      }
      ASSERT_EQ(before, rule.total);
    }
}

TEST(Choose, TakesTheFirstOfTheBestWithoutChance) {
  ChoiceRoom room;
  const float none = std::numeric_limits<float>::quiet_NaN(), least = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(choose(std::vector<float>{1, 3, 2, 3}, {}, room), 1);
  EXPECT_EQ(choose(std::vector<float>{none, 1, 3, none, 3}, {}, room), 2);
  EXPECT_EQ(choose(std::vector<float>{none, none}, {.temperature = 1}, room), 0);
  EXPECT_EQ(choose(std::vector<float>{none, least, least}, {.temperature = 1}, room), 1);
  EXPECT_EQ(choose(std::vector<float>{0, -least, -least}, {.temperature = 1}, room), 1);
  std::vector<float> many(49'153, -2.0f);
  many[300] = many[48'000] = 0.0f;
  many[301] = -0.0f;
  EXPECT_EQ(choose(many, {}, room), 300);
}

TEST(Choose, EditsComeFirst) {
  std::vector<float> logits{2, -2, 1, 4};
  const std::vector<LogitEdit> edits{
      {.id = 0, .penalty = 2}, {.id = 1, .penalty = 2, .more = 1}, {.id = 3, .more = -9}};
  edit(logits, edits);
  EXPECT_EQ(logits, (std::vector<float>{1, -3, 1, -5}));
}

}  // namespace
}  // namespace mplus
