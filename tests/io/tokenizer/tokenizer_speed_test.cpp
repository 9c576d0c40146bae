// Floors of speed: well below what a quiet machine does, far above what a mistake would leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "mplus/core/files/file.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MPLUS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MPLUS_SANITIZED 1
#endif
#endif

namespace mplus::io {
namespace {

// Processor time, since other programs share the machine; everything here runs on one thread.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double seconds_to_encode(const std::string& text) {
  const double start = processor_seconds();
  EXPECT_FALSE(test::smollm2().encode(text).empty());
  return processor_seconds() - start;
}

bool measurable() {
#if defined(NDEBUG) && !defined(MPLUS_SANITIZED)
  return true;
#else
  return false;
#endif
}

double megabytes_a_second(const std::string& text) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) best = std::min(best, seconds_to_encode(text));
  return static_cast<double>(text.size()) / best / 1e6;
}

TEST(TokenizerSpeed, AtLeastFiveMegabytesASecond) {
  if (!measurable()) GTEST_SKIP() << "only in a release build without sanitizers";
  const std::string prose = read_text_file(MPLUS_SOURCE_DIR "/LICENSE");
  std::string english;
  while (english.size() < 2'000'000) english += prose;
  const double plain = megabytes_a_second(english);
  const double mixed = megabytes_a_second(test::mixed_text(2'000'000, 2));
  std::printf("SmolLM2, one thread: English %.1f MB/s, mixed scripts %.1f MB/s\n", plain, mixed);
  EXPECT_GE(plain, 5.0);
  EXPECT_GE(mixed, 5.0);
}

// One piece of a megabyte must not take quadratic time: that would be hours. Holds in every kind of build.
TEST(TokenizerSpeed, LongPiecesTakeSeconds) {
  std::string hangul, letters;
  while (hangul.size() < 1'000'000) hangul += "가";
  for (unsigned i = 0; letters.size() < 1'000'000; i = i * 1103515245 + 12345)
    letters += static_cast<char>('a' + (i >> 16) % 26);
  for (const std::string& text :
       {std::string(1'000'000, 'a'), std::string(1'000'000, ' '), std::string(1'000'000, '7'),
        std::string(1'000'000, '\n'), std::string(1'000'000, '!'), std::string(1'000'000, '\x80'), hangul,
        letters})
    EXPECT_LT(seconds_to_encode(text), measurable() ? 5.0 : 60.0)
        << testing::PrintToString(text.substr(0, 8));
}

TEST(TokenizerSpeed, LoadsInUnder150Milliseconds) {
  if (!measurable()) GTEST_SKIP() << "only in a release build without sanitizers";
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double start = processor_seconds();
    EXPECT_EQ(Tokenizer::from_file(MPLUS_TEST_DATA "/tokenizers/tokenizer.json").size(), 49152);
    best = std::min(best, processor_seconds() - start);
  }
  std::printf("tokenizer.json of SmolLM2: %.0f ms\n", best * 1e3);
  EXPECT_LT(best, 0.15);
}

}  // namespace
}  // namespace mplus::io
