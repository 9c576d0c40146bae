#include "mplus/core/layer_set.h"

#include <gtest/gtest.h>

namespace mplus {
namespace {

using Layers = std::vector<std::int64_t>;

TEST(LayerSet, SaysWhatWasParsed) {
  for (const char* text : {"all", "0", "7", "0-3", "2-5,7,9-11", "0,2,4"}) {
    const auto set = LayerSet::parse(text);
    ASSERT_TRUE(set) << text;
    EXPECT_EQ(set->text(), text);
  }
  EXPECT_EQ(LayerSet::parse("1,2,3,5-5")->text(), "1-3,5");
}

TEST(LayerSet, RefusesWhatIsNone) {
  for (const char* text : {"", "every", "-1", "3-1", "1,1", "4,2", "0-3,2", "1,", ",1", "1-", "1 2", "1.5",
                           "0x1", "0-99999999999", "99999999999999999999"})
    EXPECT_FALSE(LayerSet::parse(text)) << text;
}

TEST(LayerSet, CountsItsMembers) {
  const LayerSet some({2, 3, 7});
  EXPECT_EQ(some.count(9), 3);
  EXPECT_EQ(some.list(9), (Layers{2, 3, 7}));
  EXPECT_EQ(some.layer(2), 7);
  EXPECT_EQ(some.place(7), 2);
  EXPECT_TRUE(some.contains(3));
  EXPECT_FALSE(some.contains(4));
  EXPECT_TRUE(some.fits(8));
  EXPECT_FALSE(some.fits(7));
}

TEST(LayerSet, AllOfThem) {
  const LayerSet all;
  EXPECT_EQ(all.count(3), 3);
  EXPECT_EQ(all.list(3), (Layers{0, 1, 2}));
  EXPECT_EQ(all.layer(2), 2);
  EXPECT_EQ(all.place(2), 2);
  EXPECT_TRUE(all.contains(100));
  EXPECT_TRUE(all.fits(1));
  EXPECT_TRUE(LayerSet({0, 1, 2}).of(3).is_all());
  EXPECT_FALSE(LayerSet({0, 1, 2}).of(4).is_all());
}

}  // namespace
}  // namespace mplus
