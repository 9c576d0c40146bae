#include "mplus/store/database/blob.h"

#include <gtest/gtest.h>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"

namespace mplus::store {
namespace {

std::vector<std::byte> seed(const std::string& name) {
  const auto file = MappedFile::open(MPLUS_SOURCE_DIR "/tests/fuzz/corpus/blob/" + name);
  return {file->bytes().begin(), file->bytes().end()};
}

TEST(Blob, WhatIsPackedComesOutAgain) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(unpack_text(pack_text(text), "text"), text);
  EXPECT_EQ(unpack_text(pack_text(""), "text"), "");
  const std::vector<std::vector<std::int64_t>> births{{-5, 3, 900}, {}, {7}};
  EXPECT_EQ(unpack_births(pack_births(births), "births"), births);
  const std::vector<io::TokenId> ids{1, 0, 49151};
  EXPECT_EQ(unpack_ids(pack_ids(ids), "ids"), ids);
}

// Numbers without sense come out as they went in, and none overflows on the way.
TEST(Blob, BirthsAreAnyNumbers) {
  const std::vector<std::vector<std::int64_t>> births{{INT64_MAX, INT64_MIN, 0, -1, INT64_MIN}};
  EXPECT_EQ(unpack_births(pack_births(births), "births"), births);
}

// A few bytes that promise two gigabytes are refused before room is made for them.
TEST(Blob, APromiseThatCannotBeKeptIsRefused) {
  const auto promised = seed("promised");
  ASSERT_LT(promised.size(), 32u);
  try {
    unpack_text(promised, "source 7");
    FAIL() << "unpacked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_NE(std::string(error.what()).find("sensible size"), std::string::npos) << error.what();
  }
  EXPECT_EQ(unpack_text(seed("repeated"), "text").size(), 1u << 16) << "as much as so few bytes can say";
}

}  // namespace
}  // namespace mplus::store
