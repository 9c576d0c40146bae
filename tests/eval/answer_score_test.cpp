#include "mplus/eval/metric/answer_score.h"

#include <gtest/gtest.h>

#include "mplus/eval/metric/words.h"

namespace mplus::eval {
namespace {

TEST(Normalised, LowersStripsAndDropsArticles) {
  EXPECT_EQ(normalised("  The  Quick, brown\tFox's den!  "), "quick brown foxs den");
  EXPECT_EQ(normalised("An apple a day"), "apple day");
  EXPECT_EQ(normalised("theatre an-other"),
            "theatre another");  // articles are whole words; a hyphen vanishes
  EXPECT_EQ(normalised("ÉCOLE Ω"), "école ω");
  EXPECT_EQ(normalised("x–a–y"), "x– –y");  // a dash that is no ASCII stays, and ends a word
  EXPECT_EQ(normalised("the"), "");
}

TEST(Exact, IsEqualityAfterNormalising) {
  EXPECT_TRUE(exact_match("The Denver Broncos.", {"Denver Broncos"}));
  EXPECT_FALSE(exact_match("Denver Broncos won", {"Denver Broncos"}));
  EXPECT_TRUE(exact_match("1973", {"October 1973", "1973"}));
  EXPECT_FALSE(exact_match("1973", {}));
}

TEST(Hit, WantsTheGoldWordsInARow) {
  EXPECT_TRUE(contains_gold("It was October, 1973 I think", {"October 1973"}));
  EXPECT_FALSE(contains_gold("October of 1973", {"October 1973"}));
  EXPECT_FALSE(contains_gold("21975", {"1975"}));    // not within a word
  EXPECT_FALSE(contains_gold("anything", {"the"}));  // a gold that normalises to nothing proves nothing
}

TEST(Verbatim, IsThePapersSubstring) {
  EXPECT_TRUE(contains_verbatim("xOslox", {"Oslo"}));
  EXPECT_FALSE(contains_verbatim("oslo", {"Oslo"}));
  EXPECT_FALSE(contains_verbatim("oslo", {""}));
}

TEST(F1, WorkedByHand) {
  // {red, blue, cat} against {blue, cat, dog, cat}: common 2 (blue, one cat); P 2/3, R 2/4, F1 4/7.
  EXPECT_DOUBLE_EQ(f1("red the blue cat", {"blue cat dog cat"}), 4.0 / 7.0);
  EXPECT_DOUBLE_EQ(f1("red blue cat", {"nothing", "red blue cat"}), 1.0);
  EXPECT_DOUBLE_EQ(f1("", {"cat"}), 0.0);
  EXPECT_DOUBLE_EQ(f1("cat", {}), 0.0);
}

TEST(StemmedF1, WorkedByHand) {
  // run, cat (stems of running, cats) against run: P 1/2, R 1.
  EXPECT_DOUBLE_EQ(stemmed_f1("running and cats", {"runs"}), 2.0 / 3.0);
  // Parts: "cats" finds cat (1), "dogs" finds nothing better than 0: mean 1/2.
  EXPECT_DOUBLE_EQ(stemmed_f1_of_parts("the cat, a horse", "cats, dogs"), 0.5);
}

TEST(Unknown, IsSaidInManyWays) {
  for (const char* text :
       {"Unknown", "I don't know.", "I do not know", "It is not mentioned.", "no information"})
    EXPECT_TRUE(says_unknown(text)) << text;
  for (const char* text : {"Oslo", "The Unknownians", "I know", ""}) EXPECT_FALSE(says_unknown(text)) << text;
}

TEST(AnswerScore, LooksAtTheFirstLineAndTheWhole) {
  const AnswerScore s = score_answer("\n Oslo \nand Paris", {"Oslo"});
  EXPECT_TRUE(s.exact && s.hit && s.verbatim);
  EXPECT_DOUBLE_EQ(s.f1, 1.0);
  EXPECT_DOUBLE_EQ(s.f1_whole, 0.5);  // P 1/3, R 1
  const AnswerScore later = score_answer("Paris\nOslo", {"Oslo"});
  EXPECT_FALSE(later.exact || later.hit);
  EXPECT_TRUE(later.verbatim);
}

}  // namespace
}  // namespace mplus::eval
