#include "mplus/core/tensors/memory_budget.h"

#include <gtest/gtest.h>

#include <limits>

#include "mplus/core/error.h"

namespace mplus {
namespace {

TEST(MemoryBudget, SizesAreReadWithTheirUnits) {
  EXPECT_EQ(bytes_from_text("4096"), 4096u);
  EXPECT_EQ(bytes_from_text("22GB"), 22'000'000'000u);
  EXPECT_EQ(bytes_from_text("18.5G"), 18'500'000'000u);
  EXPECT_EQ(bytes_from_text("1.5 GiB"), 1'610'612'736u);
  EXPECT_EQ(bytes_from_text("500M"), 500'000'000u);
  EXPECT_EQ(bytes_from_text("64Ki"), 65'536u);
  EXPECT_EQ(bytes_from_text("1TB"), 1'000'000'000'000u);
  for (const char* wrong : {"", "GB", "-1G", "5X", "5GBs", "inf", "nan", "1e30", "5 i"})
    EXPECT_EQ(bytes_from_text(wrong), std::nullopt) << wrong;
}

TEST(MemoryBudget, SizesAreShownSoThatTheySuffice) {
  EXPECT_EQ(bytes_as_text(999), "999 B");
  EXPECT_EQ(bytes_as_text(21'900'000'000u), "21.9 GB");
  for (const std::size_t size : {1001u, 1'234'567u, 999'950'001u, 2'147'483'648u})
    EXPECT_GE(bytes_from_text(bytes_as_text(size)), size) << bytes_as_text(size);
}

TEST(MemoryBudget, ALimitIsHeldAndSaysWhatWouldBeEnough) {
  MemoryBudget budget("rows", "--rows");
  budget.take(700'000'000);
  budget.require(std::size_t{1} << 40);
  EXPECT_EQ(budget.left(), std::numeric_limits<std::size_t>::max());
  budget.limit(1'000'000'000);
  EXPECT_EQ(budget.left(), 300'000'000u);
  budget.require(300'000'000);
  try {
    budget.require(300'000'001);
    FAIL() << "over the limit";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_capacity);
    EXPECT_STREQ(
        error.what(),
        "rows: 300.1 MB more are wanted, and 700.0 MB of the 1.0 GB that --rows allows are taken; 1.1 GB "
        "would be enough for this");
  }
  EXPECT_EQ(budget.used(), 700'000'000u) << "asking takes nothing";
  budget.give_back(650'000'000);
  budget.require(300'000'001);
  budget.limit(10);
  EXPECT_EQ(budget.left(), 0u);
}

TEST(MemoryBudget, WhatIsKeptIsNotToSpare) {
  MemoryBudget budget("rows", "--rows");
  budget.keep(600);
  EXPECT_EQ(budget.spare(), std::numeric_limits<std::size_t>::max()) << "no limit";
  budget.limit(1000);
  EXPECT_EQ(budget.spare(), 400u);
  budget.take(500);  // of what is kept
  EXPECT_EQ(budget.spare(), 400u);
  budget.take(300);
  budget.take_spare(300);
  EXPECT_EQ(budget.spare(), 100u);
  budget.take(150);  // more than was thought to be enough
  EXPECT_EQ(budget.spare(), 50u);
  budget.give_back(300);
  budget.give_back_spare(300);
  EXPECT_EQ(budget.spare(), 350u);
  budget.keep(1001);
  EXPECT_EQ(budget.spare(), 0u);
}

}  // namespace
}  // namespace mplus
