// Questions made from text.
#include "mplus/train/lessons/cloze.h"

#include <gtest/gtest.h>

#include <set>

namespace mplus::train {
namespace {

constexpr std::string_view kText =
    "cut off at its beginning. In the spring of 1834 the brig Amity brought forty-two settlers from Bristol "
    "to "
    "the mouth of the Swan River. Their leader, Captain William Hartog, had promised every family 160 acres "
    "of "
    "land. \"We shall never go back,\" said Mrs. Penrose to the governor of the colony. The winter was "
    "milder "
    "than they had feared, and by August they had";

TEST(TrainCloze, AsksForWhatStandsInTheText) {
  std::set<std::string> answers;
  for (std::uint32_t i = 0; i < 200; ++i) {
    Random random(1, {.update = i});
    const auto cloze = make_cloze(kText, random);
    ASSERT_TRUE(cloze);
    EXPECT_NE(kText.find(cloze->answer), kText.npos) << cloze->answer;
    EXPECT_EQ(cloze->question.find(cloze->answer), std::string::npos) << cloze->question;
    EXPECT_EQ(cloze->question.back(), '?');
    EXPECT_EQ(cloze->question.find("cut off"), std::string::npos) << "a sentence without its beginning";
    EXPECT_EQ(cloze->question.find("by August"), std::string::npos) << "a sentence without its end";
    answers.insert(cloze->answer);
  }
  for (const char* expected : {"1834", "Bristol", "Swan River", "160", "Captain William Hartog", "mouth"})
    EXPECT_TRUE(answers.count(expected)) << expected;
}

TEST(TrainCloze, IsAFunctionOfItsDraws) {
  Random a(1, {}), b(1, {});
  EXPECT_EQ(make_cloze(kText, a)->question, make_cloze(kText, b)->question);
}

TEST(TrainCloze, FindsNothingWhereThereIsNothing) {
  for (const std::string_view text :
       {std::string_view(), std::string_view("no sentence at all"), std::string_view("A. B. C! ? ."),
        std::string_view("\xff\xfe \xc3 \n\n . . ."),
        std::string_view("He was. So it is. And so on. Oh no.")}) {
    Random random(1, {});
    EXPECT_FALSE(make_cloze(text, random)) << text;
  }
}

}  // namespace
}  // namespace mplus::train
