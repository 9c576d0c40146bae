#include "mplus/eval/run/bm25.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mplus::eval {
namespace {

TEST(Bm25, WorkedByHand) {
  Bm25 index;
  index.add("the red cat sat");    // 4 words
  index.add("The cat, the CAT!");  // 4 words, cat twice
  index.add("a dog");              // 2 words
  // cat: in 2 of 3 passages, idf = ln(1 + 1.5 / 2.5); mean length 10 / 3.
  const double idf = std::log(1 + 1.5 / 2.5);
  const double norm = 1.2 * (0.25 + 0.75 * 4 / (10.0 / 3));
  const auto scores = index.scores("Cat");
  EXPECT_DOUBLE_EQ(scores[0], idf * 1 * 2.2 / (1 + norm));
  EXPECT_DOUBLE_EQ(scores[1], idf * 2 * 2.2 / (2 + norm));
  EXPECT_DOUBLE_EQ(scores[2], 0.0);
  EXPECT_EQ(index.best("cat", 5), (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(index.best("cat", 1), (std::vector<std::size_t>{1}));
  EXPECT_TRUE(index.best("horse", 5).empty());
  EXPECT_EQ(index.scores("cat cat"), scores);  // a word asked twice counts once
}

TEST(Bm25, TiesGoToTheOlder) {
  Bm25 index;
  for (const char* text : {"x y", "lamp z", "lamp w"}) index.add(text);
  EXPECT_EQ(index.best("lamp", 2), (std::vector<std::size_t>{1, 2}));
}

}  // namespace
}  // namespace mplus::eval
