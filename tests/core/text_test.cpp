#include "mplus/core/text.h"

#include <gtest/gtest.h>

namespace mplus {
namespace {

TEST(Text, IsTrimmedOfWhiteSpaceAroundItOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \n "), "");
}

TEST(Text, IsFoundInCapitalAndInSmallLetters) {
  EXPECT_TRUE(contains_ignoring_case("Platform 13 is for Bergen.", "platform 13"));
  EXPECT_TRUE(contains_ignoring_case("in BERGEN", "Bergen"));
  EXPECT_TRUE(contains_ignoring_case("anything", ""));
  EXPECT_FALSE(contains_ignoring_case("Berge", "Bergen"));
  EXPECT_FALSE(contains_ignoring_case("", "a"));
  EXPECT_FALSE(contains_ignoring_case("\xc3\x84pfel", "\xc3\xa4pfel"));  // ASCII's letters alone
}

}  // namespace
}  // namespace mplus
