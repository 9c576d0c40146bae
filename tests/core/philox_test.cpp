#include "mplus/core/numbers/philox.h"

#include <gtest/gtest.h>

namespace mplus {
namespace {

// Known-answer vectors published with Random123 for philox4x32 with 10 rounds.
TEST(Philox, PublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EveryPartOfThePlaceCounts) {
  const auto base = random_bits(1, RandomStream::drop, 2, 3, 4);
  EXPECT_EQ(base, random_bits(1, RandomStream::drop, 2, 3, 4));
  EXPECT_NE(base, random_bits(2, RandomStream::drop, 2, 3, 4));
  EXPECT_NE(base, random_bits(std::uint64_t{1} << 32 | 1, RandomStream::drop, 2, 3, 4));
  EXPECT_NE(base, random_bits(1, RandomStream::sample, 2, 3, 4));
  EXPECT_NE(base, random_bits(1, RandomStream::drop, 3, 3, 4));
  EXPECT_NE(base, random_bits(1, RandomStream::drop, 2, 4, 4));
  EXPECT_NE(base, random_bits(1, RandomStream::drop, 2, 3, 5));
}

}  // namespace
}  // namespace mplus
