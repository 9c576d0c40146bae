#include "mplus/io/text/hash.h"

#include <gtest/gtest.h>

#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

TEST(Hash, Sha256OfTheStandardsExamples) {
  EXPECT_EQ(sha256_hex(test::to_bytes("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(test::to_bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, AFilesHashIsThatOfItsBytes) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(sha256_hex(folder.write("a", "abc")), sha256_hex(test::to_bytes("abc")));
  EXPECT_EQ(sha256_hex(folder.write("empty", "")), sha256_hex(test::to_bytes("")));
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("absent"), sha256_hex(folder.path() / "absent"));
}

TEST(Hash, Xxh3OfThePublishedEmptyVectorAndOfOneChangedBit) {
  EXPECT_EQ(xxh3(test::to_bytes("")), 0x2d06800538d394c2u);
  EXPECT_NE(xxh3(test::to_bytes("abc")), xxh3(test::to_bytes("abb")));
}

}  // namespace
}  // namespace mplus::io
