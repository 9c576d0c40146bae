#include "mplus/engine/answer/talk.h"

#include <gtest/gtest.h>

#include <vector>

namespace mplus::engine {
namespace {

TEST(Talk, AScoreIsALinearForm) {
  const std::vector<float> hidden = {1, -2, 0.5f}, weights = {3, 1, 4, -0.25f};
  EXPECT_DOUBLE_EQ(talk_score(hidden, weights), 3 - 2 + 2 - 0.25);
}

TEST(Talk, TwoScoresDivideIt) {
  const io::TalkProbe probe{.layer = 3, .sure = 2, .unsure = -1};
  EXPECT_EQ(talk_by(2, probe), Talk::yes);
  EXPECT_EQ(talk_by(1.9, probe), Talk::maybe);
  EXPECT_EQ(talk_by(-1, probe), Talk::maybe);
  EXPECT_EQ(talk_by(-1.1, probe), Talk::no);
}

TEST(Talk, ATextMayBeAboutIt) {
  const TalkWords tea("How do I make green tea?");
  EXPECT_TRUE(tea.are_in("To make a pot of green tea, boil the water first."));
  EXPECT_FALSE(tea.are_in("She had made up her mind about the green door."));
  EXPECT_FALSE(tea.are_in(""));
  const TalkWords france("What is the capital of France?");
  EXPECT_TRUE(france.are_in("Paris, the capital of France, lies on the Seine."));
  EXPECT_FALSE(france.are_in("He came from France."));
}

// "Hello" stands in many texts that are about something else.
TEST(Talk, OneWordSaysTooLittle) {
  EXPECT_FALSE(TalkWords("Hello!").are_in("Hello, said the fox."));
  EXPECT_FALSE(TalkWords("Who are you?").are_in("Who are you? asked the caterpillar."));
}

TEST(Talk, AnAnswerStandsInATextWordForWord) {
  EXPECT_TRUE(stands_in("The Rolling Stones.", "It was sung by the Rolling Stones in 1969."));
  EXPECT_TRUE(stands_in("a lantern", "Bring the lantern."));
  EXPECT_FALSE(stands_in("42", "Page 421 of the book."));
  EXPECT_FALSE(stands_in("Rolling in stones", "the Rolling Stones"));
  EXPECT_FALSE(stands_in("", "anything"));
  EXPECT_FALSE(stands_in("the", "the end"));
}

}  // namespace
}  // namespace mplus::engine
