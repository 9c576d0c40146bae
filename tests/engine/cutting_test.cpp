#include "mplus/engine/cutting.h"

#include <gtest/gtest.h>

#include <numeric>

namespace mplus::engine {
namespace {

using Pieces = std::vector<std::int64_t>;

TEST(Cutting, HandWorkedCases) {
  EXPECT_EQ(cut_text(0, 256, 128), Pieces{});
  EXPECT_EQ(cut_text(1, 256, 128), Pieces{1});
  EXPECT_EQ(cut_text(256, 256, 128), Pieces{256});
  EXPECT_EQ(cut_text(257, 256, 128), (Pieces{129, 128}));
  EXPECT_EQ(cut_text(383, 256, 128), (Pieces{192, 191}));
  EXPECT_EQ(cut_text(384, 256, 128), (Pieces{256, 128}));
  EXPECT_EQ(cut_text(600, 256, 128), (Pieces{256, 172, 172}));
  EXPECT_EQ(cut_text(7, 5, 5), (Pieces{5, 2}));  // cannot be evened out
}

// Every token is written once, in pieces of at most C, none under K where the text has K or more and C ≥ 2K
// − 1.
TEST(Cutting, Laws) {
  for (std::int64_t K : {1, 3, 8})
    for (std::int64_t C : {2 * K, 3 * K, 5 * K + 1})
      for (std::int64_t n = 0; n < 6 * C; ++n) {
        const Pieces pieces = cut_text(n, C, K);
        EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0}), n);
        for (std::int64_t p : pieces) {
          EXPECT_LE(p, C);
          if (n >= K) {
            EXPECT_GE(p, K) << "n " << n << " C " << C << " K " << K;
          }
        }
      }
}

}  // namespace
}  // namespace mplus::engine
