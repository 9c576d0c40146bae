#include "mplus/eval/data/json_lines.h"

#include <gtest/gtest.h>
#include <lzma.h>

#include "expect_error.h"
#include "temporary_file.h"

namespace mplus::eval {
namespace {

std::string packed(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

std::vector<std::int64_t> numbers(const std::filesystem::path& file) {
  JsonLines lines(file);
  std::vector<std::int64_t> found;
  io::Json json;
  while (lines.next(json)) found.push_back(json["n"].get<std::int64_t>());
  return found;
}

TEST(JsonLines, ReadsPlainAndPackedAlike) {
  const TemporaryFolder folder;
  std::string text;
  std::vector<std::int64_t> expected;
  for (int n = 0; n < 5000; ++n) {  // several blocks
    text += "{\"n\": " + std::to_string(n) + ", \"pad\": \"" + std::string(100, 'x') + "\"}\n";
    expected.push_back(n);
  }
  EXPECT_EQ(numbers(folder.write("plain.jsonl", text)), expected);
  EXPECT_EQ(numbers(folder.write("packed.jsonl.xz", packed(text))), expected);
  EXPECT_EQ(numbers(folder.write("no_ending", packed(text))), expected);  // told by its bytes
  EXPECT_EQ(numbers(folder.write("two.xz", packed("{\"n\":1}\n") + packed("{\"n\":2}"))),
            (std::vector<std::int64_t>{1, 2}));
}

TEST(JsonLines, LastLineMayEndTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(numbers(folder.write("a", "{\"n\":1}\r\n\n  \n{\"n\":2}")), (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(numbers(folder.write("empty", "")).empty());
}

TEST(JsonLines, NamesTheLineThatIsWrong) {
  const TemporaryFolder folder;
  const auto bad = folder.write("bad.jsonl", "{\"n\":1}\n\n{\"n\":\n");
  expect_error(ErrorCode::corrupt, {"bad.jsonl:3"}, [&] { numbers(bad); });
  const auto list = folder.write("list.jsonl", "{\"n\":1}\n[1]\n");
  expect_error(ErrorCode::corrupt, {"list.jsonl:2", "object", "array"}, [&] { numbers(list); });
}

TEST(JsonLines, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::not_found, {"nosuch.jsonl"}, [&] { JsonLines(folder.path() / "nosuch.jsonl"); });
  expect_error(ErrorCode::invalid_argument, {"folder"}, [&] { JsonLines{folder.path()}; });
  const std::string whole = packed("{\"n\":1}\n");
  const auto cut = folder.write("cut.xz", whole.substr(0, whole.size() / 2));
  expect_error(ErrorCode::corrupt, {"cut.xz", "cut off"}, [&] { numbers(cut); });
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
  const auto broken = folder.write("broken.xz", damaged);
  expect_error(ErrorCode::corrupt, {"broken.xz"}, [&] { numbers(broken); });
}

}  // namespace
}  // namespace mplus::eval
