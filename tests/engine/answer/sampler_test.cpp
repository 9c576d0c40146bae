#include "mplus/engine/answer/sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "mplus/core/error.h"

namespace mplus::engine {
namespace {

const std::vector<float> kLogits{1.0f, 3.0f, 2.0f, 3.0f, -1.0f};

std::map<io::TokenId, int> draws(const SamplingOptions& options, int n) {
  Sampler sampler(options, 5);
  std::map<io::TokenId, int> count;
  for (int i = 0; i < n; ++i) ++count[sampler.pick(kLogits, {}, static_cast<std::uint32_t>(i), 0)];
  return count;
}

TEST(Sampler, GreedyTakesTheBestAndTheLowerIdOnATie) {
  EXPECT_EQ(greedy(kLogits), 1);
  Sampler sampler({}, 5);
  EXPECT_EQ(sampler.pick(kLogits, {}, 0, 0), 1);
}

// Under ASan: whatever a damaged model gives, the token is one of the vocabulary.
TEST(Sampler, StaysInsideWhateverTheLogitsAre) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kValues[] = {
      std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 0.0f, -3.5f, 3e38f, -3e38f, 1e-45f};
  std::mt19937 random(3);
  for (const std::size_t vocab : {1u, 2u, 17u, 300u})
    for (int round = 0; round < 200; ++round) {
      // Of all kinds of values, of two, or of one.
      const unsigned kinds = round % 3 == 0 ? 8 : round % 3 == 1 ? 2 : 1;
      const unsigned first = random() % 8;
      std::vector<float> logits(vocab);
      for (float& logit : logits) logit = kValues[(first + random() % kinds) % 8];
      const io::TokenId last = static_cast<io::TokenId>(vocab) - 1;
      const std::vector<io::TokenId> recent{0, last, 0};
      for (const float temperature : {0.0f, 1e-30f, 1.0f, 1e30f}) {
        SamplingOptions options{.temperature = temperature};
        options.top_k = static_cast<std::int64_t>(random() % 3) * 5;
        options.top_p = random() % 2 == 0 ? 1.0f : 1e-6f;
        options.min_p = random() % 2 == 0 ? 0.0f : 0.9f;
        options.repetition_penalty = random() % 2 == 0 ? 1.0f : 1e-30f;
        Sampler sampler(options, static_cast<std::int64_t>(vocab));
        const io::TokenId id = sampler.pick(logits, {.recent = recent}, static_cast<std::uint32_t>(round), 0);
        ASSERT_GE(id, 0);
        ASSERT_LE(id, last);
      }
    }
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  constexpr int kDraws = 20'000;
  for (float temperature : {0.5f, 1.0f, 2.0f}) {
    const auto count = draws({.temperature = temperature}, kDraws);
    double total = 0;
    for (float logit : kLogits) total += std::exp(static_cast<double>(logit / temperature));
    for (io::TokenId id = 0; id < 5; ++id) {
      const double p =
          std::exp(static_cast<double>(kLogits[static_cast<std::size_t>(id)] / temperature)) / total;
      const double deviation = std::sqrt(p * (1 - p) * kDraws);
      const int found = count.contains(id) ? count.at(id) : 0;
      EXPECT_NEAR(found, p * kDraws, 5 * deviation + 1) << "token " << id << " temperature " << temperature;
    }
  }
}

TEST(Sampler, CutsLeaveOnlyTheLikely) {
  for (const auto& [id, n] : draws({.temperature = 1.0f, .top_k = 2}, 500)) EXPECT_TRUE(id == 1 || id == 3);
  for (const auto& [id, n] : draws({.temperature = 1.0f, .top_p = 0.5f}, 500))
    EXPECT_TRUE(id == 1 || id == 3);
  for (const auto& [id, n] : draws({.temperature = 1.0f, .min_p = 0.3f}, 500))
    EXPECT_TRUE(id == 1 || id == 3 || id == 2);
  EXPECT_EQ(draws({.temperature = 1.0f, .top_k = 1}, 100).size(), 1u);
}

TEST(Sampler, SamePlaceSameToken) {
  Sampler a({.temperature = 1.0f, .seed = 9}, 5), b({.temperature = 1.0f, .seed = 9}, 5),
      c({.temperature = 1.0f, .seed = 10}, 5);
  int differences = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(a.pick(kLogits, {}, i, 3), b.pick(kLogits, {}, i, 3));
    differences += a.pick(kLogits, {}, i, 3) != c.pick(kLogits, {}, i, 3);
  }
  EXPECT_GT(differences, 20);
}

TEST(Sampler, RepetitionPenalty) {
  Sampler sampler({.repetition_penalty = 2.0f}, 5);
  const std::vector<io::TokenId> recent{1, 3, 1};
  EXPECT_EQ(sampler.pick(kLogits, {.recent = recent}, 0, 0), 2);  // 3/2 < 2
}

const std::vector<float> kFalling{1.0f, 3.0f, 2.0f, 0.0f, -1.0f};  // the best is 1, the next 2

TEST(Sampler, WhatTheAnswerHasSaidIsTakenOff) {
  const std::vector<io::TokenId> once{1}, twice{1, 1};
  Sampler presence({.presence_penalty = 0.4f}, 5), frequency({.frequency_penalty = 0.4f}, 5);
  const float gap = kFalling[1] - kFalling[2];
  ASSERT_GT(gap, 0.4f);
  ASSERT_LT(gap, 2.0f);
  EXPECT_EQ(presence.pick(kFalling, {.answer = twice}, 0, 0), 1);  // counts once, however often
  Sampler strong({.presence_penalty = 2}, 5), often({.frequency_penalty = gap * 0.6f}, 5);
  EXPECT_EQ(strong.pick(kFalling, {.answer = once}, 0, 0), 2);
  EXPECT_EQ(strong.pick(kFalling, {.recent = once}, 0, 0), 1);  // the prompt may say it
  EXPECT_EQ(often.pick(kFalling, {.answer = once}, 0, 0), 1);
  EXPECT_EQ(often.pick(kFalling, {.answer = twice}, 0, 0), 2);
}

TEST(Sampler, ABiasForbidsOrForces) {
  Sampler forbids({.bias = {{1, -100}}}, 5), forces({.bias = {{4, 100}}}, 5);
  EXPECT_EQ(forbids.pick(kFalling, {}, 0, 0), 2);
  EXPECT_EQ(forces.pick(kFalling, {}, 0, 0), 4);
}

TEST(Sampler, ChancesAreLogProbabilities) {
  const TokenChances token = chances(kFalling, 2, 3);
  EXPECT_EQ(token.id, 2);
  EXPECT_DOUBLE_EQ(token.log_probability, -negative_log_likelihood(kFalling, 2));
  ASSERT_EQ(token.best.size(), 3u);
  EXPECT_EQ(token.best[0].id, 1);
  EXPECT_EQ(token.best[1].id, 2);
  EXPECT_NEAR(token.best[1].log_probability, token.log_probability, 1e-12);
  double sum = 0;
  for (const TokenChance& one : chances(kFalling, 0, 99).best) sum += std::exp(one.log_probability);
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Sampler, SenselessOptionsAreRejected) {
  const SamplingOptions bad[] = {{.temperature = -1}, {.temperature = NAN},     {.top_k = -1},
                                 {.top_p = 0},        {.top_p = 1.5f},          {.min_p = 1},
                                 {.min_p = -0.1f},    {.repetition_penalty = 0}};
  for (const auto& options : bad) {
    try {
      check(options);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    }
  }
}

TEST(NegativeLogLikelihood, EqualsTheDefinition) {
  double total = 0;
  for (float logit : kLogits) total += std::exp(static_cast<double>(logit));
  for (io::TokenId id = 0; id < 5; ++id)
    EXPECT_NEAR(negative_log_likelihood(kLogits, id),
                -std::log(std::exp(static_cast<double>(kLogits[static_cast<std::size_t>(id)])) / total),
                1e-12);
}

}  // namespace
}  // namespace mplus::engine
