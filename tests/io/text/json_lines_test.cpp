#include "mplus/io/text/json_lines.h"

#include <gtest/gtest.h>

#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"
#include "tests/io/text/packed.h"

namespace mplus::io::test {
namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers(const std::filesystem::path& file) {
  JsonLines lines(file);
  Numbers found;
  Json json;
  while (lines.next(json)) found.push_back(json["n"].get<std::int64_t>());
  return found;
}

TEST(JsonLines, ReadsPlainAndPackedAlike) {
  const TemporaryFolder folder;
  std::string text;
  Numbers expected;
  for (int n = 0; n < 5000; ++n) {  // several blocks
    text += "{\"n\": " + std::to_string(n) + ", \"pad\": \"" + std::string(100, 'x') + "\"}\n";
    expected.push_back(n);
  }
  EXPECT_EQ(numbers(folder.write("plain.jsonl", text)), expected);
  EXPECT_EQ(numbers(folder.write("packed.jsonl.xz", packed_xz(text))), expected);
  EXPECT_EQ(numbers(folder.write("packed.jsonl.zst", packed_zstd(text))), expected);
  EXPECT_EQ(numbers(folder.write("no_ending", packed_xz(text))), expected);  // told by its bytes
  EXPECT_EQ(numbers(folder.write("plain.zst", text)), expected);
}

TEST(JsonLines, SeveralPackedStreamsAreOne) {
  const TemporaryFolder folder;
  const std::string first = "{\"n\":1}\n", second = "{\"n\":2}";
  EXPECT_EQ(numbers(folder.write("two.xz", packed_xz(first) + packed_xz(second))), (Numbers{1, 2}));
  EXPECT_EQ(numbers(folder.write("two.zst", packed_zstd(first) + packed_zstd(second))), (Numbers{1, 2}));
}

TEST(JsonLines, LastLineMayEndTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(numbers(folder.write("a", "{\"n\":1}\r\n\n  \n{\"n\":2}")), (Numbers{1, 2}));
  EXPECT_TRUE(numbers(folder.write("empty", "")).empty());
  EXPECT_TRUE(numbers(folder.write("empty.xz", packed_xz(""))).empty());
  EXPECT_TRUE(numbers(folder.write("empty.zst", packed_zstd(""))).empty());
}

TEST(JsonLines, NamesTheLineThatIsWrong) {
  const TemporaryFolder folder;
  const auto bad = folder.write("bad.jsonl", "{\"n\":1}\n\n{\"n\":\n");
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("bad.jsonl:3"), numbers(bad));
  const auto list = folder.write("list.jsonl", "{\"n\":1}\n[1]\n");
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("list.jsonl:2", "object", "array"), numbers(list));
}

TEST(JsonLines, GivesLinesAsTheyStand) {
  const TemporaryFolder folder;
  JsonLines lines(folder.write("mixed.jsonl", "{\"n\":1}\n\n{no JSON\n \n"));
  std::string line;
  ASSERT_TRUE(lines.next_line(line));
  EXPECT_EQ(line, "{\"n\":1}");
  ASSERT_TRUE(lines.next_line(line));
  EXPECT_EQ(line, "{no JSON");
  EXPECT_EQ(lines.line(), 3);
  EXPECT_FALSE(lines.next_line(line));
}

TEST(JsonLines, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("nosuch.jsonl"), JsonLines(folder.path() / "nosuch.jsonl"));
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("folder"), JsonLines{folder.path()});
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("xz_dictionary", "256 MB"),
                     numbers(MPLUS_SOURCE_DIR "/tests/fuzz/corpus/unpacked_file/xz_dictionary"));
  for (const std::string& whole : {packed_xz("{\"n\":1}\n"), packed_zstd("{\"n\":1}\n")}) {
    const auto cut = folder.write("cut", whole.substr(0, whole.size() / 2));
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("cut", "cut off"), numbers(cut));
    const auto short_of_one = folder.write("short", whole.substr(0, whole.size() - 1));
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("short", "cut off"), numbers(short_of_one));
    std::string damaged = whole;
    damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
    const auto broken = folder.write("broken", damaged);
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("broken"), numbers(broken));
    const auto more = folder.write("more", whole + "{\"n\":2}\n");
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("more"), numbers(more));
  }
}

}  // namespace
}  // namespace mplus::io::test
