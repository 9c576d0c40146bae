#include "mplus/core/drops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mplus/core/numbers/philox.h"

namespace mplus {
namespace {

// These must never change: memories of every version and machine drop the same slots.
TEST(Drops, TestVectors) {
  EXPECT_EQ(choose_drops(0, 0, 0, 8, 3), (std::vector<std::int64_t>{0, 1, 5}));
  EXPECT_EQ(choose_drops(1, 29, 7, 16, 4), (std::vector<std::int64_t>{5, 7, 12, 15}));
  EXPECT_EQ(choose_drops(0xdeadbeefcafef00d, 3, 100000, 1024, 5),
            (std::vector<std::int64_t>{257, 319, 332, 337, 732}));
}

TEST(Drops, TakesTheSmallestDrawsInAscendingOrder) {
  for (std::int64_t k : {0, 1, 5, 20}) {
    const auto slots = choose_drops(7, 2, 3, 20, k);
    ASSERT_EQ(static_cast<std::int64_t>(slots.size()), k);
    EXPECT_TRUE(std::is_sorted(slots.begin(), slots.end()));
    std::vector<std::uint64_t> draws;
    for (std::uint32_t s = 0; s < 20; ++s) draws.push_back(random_bits(7, RandomStream::drop, 3, 2, s));
    std::uint64_t worst_taken = 0, best_left = ~std::uint64_t{0};
    for (std::int64_t s = 0; s < 20; ++s) {
      const std::uint64_t draw = draws[static_cast<std::size_t>(s)];
      if (std::find(slots.begin(), slots.end(), s) != slots.end()) {
        worst_taken = std::max(worst_taken, draw);
      } else {
        best_left = std::min(best_left, draw);
      }
    }
    if (k > 0 && k < 20) {
      EXPECT_LT(worst_taken, best_left);
    }
  }
}

TEST(Drops, EverySlotIsDroppedAboutEquallyOften) {
  constexpr int kUpdates = 4000;
  std::vector<int> count(16, 0);
  for (int u = 0; u < kUpdates; ++u)
    for (std::int64_t slot : choose_drops(1, 0, u, 16, 4)) ++count[static_cast<std::size_t>(slot)];
  // Binomial with p = 1/4: mean 1000, standard deviation 27; five of them leave one false alarm in a hundred
  // thousand.
  for (int c : count) EXPECT_NEAR(c, 1000, 137);
}

}  // namespace
}  // namespace mplus
