#include "mplus/memory/recall/vote.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "mplus/memory/layout.h"
#include "mplus/memory/recall/chunk_scores.h"

namespace mplus::memory {
namespace {

using Births = std::vector<std::int64_t>;

TEST(Chunk, FloorsNegativeBirthsToo) {
  EXPECT_EQ(chunk_of(0, 4), 0);
  EXPECT_EQ(chunk_of(3, 4), 0);
  EXPECT_EQ(chunk_of(4, 4), 1);
  EXPECT_EQ(chunk_of(-1, 4), -1);
  EXPECT_EQ(chunk_of(-4, 4), -1);
  EXPECT_EQ(chunk_of(-5, 4), -2);
}

TEST(TakeBest, OlderWinsTiesAndOrderIsByBirth) {
  const Births births{9, 3, 7, 1, 5};
  const std::vector<float> scores{0.5f, 0.9f, 0.5f, 0.5f, 0.1f};
  EXPECT_EQ(take_best({births, scores}, 3), (Births{3, 1, 2}));  // births 1, 3, 7
  EXPECT_EQ(take_best({births, scores}, 99), (Births{3, 1, 4, 2, 0}));
  EXPECT_TRUE(take_best({births, scores}, 0).empty());
}

// Worked by hand: two layers, K = 2. Layer 0 holds chunks 0 (mean 0.2) and 1 (mean 0.4); layer 1 chunk 1
// only.
TEST(Vote, HandWorkedCase) {
  const Births births0{0, 1, 2}, births1{3};
  const std::vector<float> scores0{0.1f, 0.3f, 0.4f}, scores1{0.7f};
  const std::vector<LayerScores> layers{{births0, scores0}, {births1, scores1}};
  const Votes votes = vote(layers, 2, 2);
  ASSERT_EQ(votes.votes.size(), 3u);
  const double z = 0.1 / (0.1 + 1e-6);  // (0.4 − 0.3) / (sd + 1e-6), sd = 0.1
  EXPECT_NEAR(votes[0], -z / 2, 1e-6);
  EXPECT_NEAR(votes[1], z / 2, 1e-6);  // layer 1 has one chunk: its z is 0
  EXPECT_EQ(votes[2], 0.0);
  EXPECT_EQ(votes.order(), (Births{1, 2, 0}));
}

TEST(Vote, WeightsAndBestRows) {
  const Births births{0, 1, 2, 3};
  const std::vector<float> up{0.9f, 0.1f, 0.6f, 0.6f}, down{0.1f, 0.1f, 0.9f, 0.9f};
  const std::vector<LayerScores> layers{{births, up}, {births, down}};
  EXPECT_GT(vote(layers, 2, 1, {.layer_weights = {}, .top = 0})[1], 0.9);  // means: .5 < .6, .1 < .9
  const Votes top = vote(layers, 2, 1, {.layer_weights = {1, 0}, .top = 1});
  EXPECT_GT(top[0], 0.9);  // the best row of chunk 0 beats that of chunk 1 where only layer 0 counts
}

// Rows of five chunks in no order; few best are kept as rows pass by, many are chosen at the end.
TEST(ChunkScores, AreMeansOfTheBestRows) {
  constexpr std::int64_t kK = 60, kChunks = 5, kRows = kK * kChunks;
  Births births(kRows);
  std::vector<float> scores(kRows);
  std::vector<std::vector<double>> of_chunk(kChunks);
  for (std::size_t i = 0; i < kRows; ++i) {
    births[i] = static_cast<std::int64_t>(i * 7 % kRows);
    scores[i] = static_cast<float>(i * 131 % 97) / 128.0f;  // some are equal; units and sums are exact
    if (i % 11 == 0) scores[i] = std::numeric_limits<float>::quiet_NaN();
    if (i % 11 != 0) of_chunk[static_cast<std::size_t>(births[i] / kK)].push_back(scores[i]);
  }
  for (auto& chunk : of_chunk) std::sort(chunk.begin(), chunk.end(), std::greater<>());
  const ChunkSlots slots(kK, kChunks);  // one more, without rows
  for (const std::int64_t top : {1, 2, 8, 32, 33, 1000}) {
    const std::vector<double> found = chunk_scores({births, scores}, slots, top);
    ASSERT_EQ(found.size(), kChunks + 1u);
    for (std::size_t c = 0; c < kChunks; ++c) {
      const auto n = std::min<std::ptrdiff_t>(top, std::ssize(of_chunk[c]));
      const double sum = std::accumulate(of_chunk[c].begin(), of_chunk[c].begin() + n, 0.0);
      EXPECT_EQ(found[c], sum / static_cast<double>(n)) << "best " << top << " of chunk " << c;
    }
    EXPECT_TRUE(std::isnan(found[kChunks]));
  }
}

TEST(Vote, LeadersAreThoseNearTheBest) {
  // Mean 1, sd √6.5 ≈ 2.55 over the four that are held.
  const Votes votes{{0, 1, 2, 3, 4}, {5, 1, 0, -2, 0}, {true, true, false, true, true}, {}};
  EXPECT_EQ(votes.leaders(0), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(votes.leaders(1.5), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(votes.leaders(1.6), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(votes.leaders(2.0), (std::vector<std::int64_t>{0, 1, 2, 4}));
  EXPECT_EQ(votes.leaders(kNoMargin), votes.order());
  EXPECT_EQ(votes.behind(0), 0);
  EXPECT_DOUBLE_EQ(votes.behind(1), 4 / std::sqrt(6.5));
  EXPECT_DOUBLE_EQ(votes.behind(3), 7 / std::sqrt(6.5));
  const Votes equal{{0, 1}, {0, 0}, {true, true}, {}};
  EXPECT_EQ(equal.leaders(0), equal.order());
  EXPECT_EQ(equal.behind(1), 0);
  EXPECT_TRUE(Votes{}.leaders(1).empty());
}

TEST(TakeByChunk, FillsUpWithTheBestOfTheLastChunk) {
  const Births births{4, 5, 0, 1, 2, 3};
  const std::vector<float> scores{0.1f, 0.2f, 0.9f, 0.3f, 0.5f, 0.5f};
  const Births order{2, 1, 0};                                                 // K = 2: chunk 2 = births 4, 5
  EXPECT_EQ(take_by_chunk({births, scores}, order, 2, 3), (Births{4, 0, 1}));  // births 2 (tie: older), 4, 5
  EXPECT_EQ(take_by_chunk({births, scores}, order, 2, 5), (Births{2, 4, 5, 0, 1}));
  EXPECT_EQ(take_by_chunk({births, scores}, order, 2, 50).size(), 6u);
}

// Rows of any chunk in turn, some older than the first update; all of the chunks' rows fit.
TEST(TakeByChunk, FindsTheRowsOfExactlyTheseChunks) {
  std::mt19937 random(1);
  for (const std::int64_t K : {1, 3, 128}) {
    Births births(4000);
    for (std::int64_t& birth : births) birth = static_cast<std::int64_t>(random()) % (40 * K) - 5 * K;
    std::vector<float> scores(births.size(), 0.5f);
    for (float& score : scores)
      if (random() % 10 == 0) score = std::numeric_limits<float>::quiet_NaN();
    Births chunks(40);
    std::iota(chunks.begin(), chunks.end(), -5);
    std::shuffle(chunks.begin(), chunks.end(), random);
    for (const std::ptrdiff_t count : {0, 1, 2, 7, 8, 31, 40}) {
      const Births order(chunks.begin(), chunks.begin() + count);
      Births expected;
      for (std::size_t r = 0; r < births.size(); ++r)
        if (!std::isnan(scores[r]) &&
            std::find(order.begin(), order.end(), chunk_of(births[r], K)) != order.end())
          expected.push_back(static_cast<std::int64_t>(r));
      Births found = take_by_chunk({births, scores}, order, K, 4000);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), [&](std::int64_t a, std::int64_t b) {
        const auto birth = [&](std::int64_t row) { return births[static_cast<std::size_t>(row)]; };
        return birth(a) != birth(b) ? birth(a) < birth(b) : a < b;
      }));
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, expected) << count << " chunks of " << K;
    }
  }
}

}  // namespace
}  // namespace mplus::memory
