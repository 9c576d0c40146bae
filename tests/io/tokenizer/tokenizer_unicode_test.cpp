#include <gtest/gtest.h>

#include <set>

#include "mplus/io/pretokenizer/unicode.h"
#include "mplus/io/pretokenizer/unicode_ranges.h"
#include "mplus/io/text/names.h"

#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::io {
namespace {

TEST(Unicode, ReplacesByLongestStartsOfCharacters) {
  // Unicode, section 3.9, "U+FFFD substitution of maximal subparts", tables 3-8 to 3-11.
  EXPECT_EQ(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdA");
  EXPECT_EQ(to_valid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\ufffd\ufffd\ufffd\ufffd\ufffdA\ufffd\ufffdB");
  EXPECT_EQ(to_valid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\ufffd\ufffd\ufffd\ufffdA");
}

TEST(Unicode, StepsAgreeWithTheValidatorOnRandomBytes) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::string text;
    for (std::uint64_t i = 0; i < seed % 40; ++i) {
      const std::uint64_t bits = test::random_number(seed, i);
      text += static_cast<char>(bits & 3 ? 0x80 | (bits >> 8 & 0x7f) : bits >> 8 & 0x7f);
    }
    EXPECT_EQ(valid_utf8_length(text, 0) == text.size(), valid_utf8(text));
    EXPECT_TRUE(valid_utf8(to_valid_utf8(text)));
    EXPECT_TRUE(valid_utf8(text.substr(0, valid_utf8_length(text, 0))));
  }
}

TEST(Unicode, KindsAreTheRanges) {
  std::set<std::string> pages;
  std::size_t letters = 0, numbers = 0, spaces = 0;
  for (std::uint32_t page = 0; page < 0x1100; ++page) {
    std::string kinds;
    for (std::uint32_t c = page * 256; c < page * 256 + 256; ++c) {
      const CharKind kind = char_kinds()(c);
      letters += kind == CharKind::letter;
      numbers += kind == CharKind::number;
      spaces += kind == CharKind::space;
      kinds += static_cast<char>(kind);
    }
    pages.insert(kinds);
  }
  EXPECT_LT(pages.size(), 256u) << "page numbers are bytes";
  EXPECT_EQ(letters, 141028u);  // as counted with PyPI's unicodedata2 16.0.0
  EXPECT_EQ(numbers, 1911u);
  EXPECT_EQ(spaces, 25u);  // as PyPI's tokenizers 0.23.3 finds with \s
  for (const auto ranges : {letter_ranges(), number_ranges()})
    for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_GT(ranges[i].first, ranges[i - 1].last + 1);
  EXPECT_EQ(char_kinds()(0x110000), CharKind::other);
  EXPECT_TRUE(is_digit(U'½') && is_digit(U'٣') && is_digit(0x11de0) && !is_digit(U'a'));
}

TEST(Unicode, NfcOfTheStandardsExamples) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"e\u0301", "\u00e9"},
      {"\u1e9b\u0323", "\u1e9b\u0323"},  // marks keep their order where nothing composes
      {"\u0073\u0323\u0307", "\u1e69"},  // two steps
      {"\u0073\u0307\u0323", "\u1e69"},  // after reordering
      {"\u212b", "\u00c5"},              // a singleton
      {"\u0958", "\u0915\u093c"},        // excluded from composition
      {"\u1100\u1161\u11a8", "\uac01"},  // Hangul
      {"\uac00\u11a8", "\uac01"},
      {"\u09c7\u09be", "\u09cb"},                 // a second part with combining class 0
      {"\ufb01", "\ufb01"},                       // compatibility only
      {"a\u0300\xff\u0301", "\u00e0\xff\u0301"},  // invalid bytes end a stretch
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(normalise_nfc(text).text, expected);
}

TEST(Unicode, NfcIsIdempotentAndMapsItsEndsBack) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::string text;
    for (std::uint64_t i = 0; i < 30; ++i) {
      constexpr std::string_view kParts[] = {"a", "e",      "\u0301", "\u0323", "\u0307",
                                             "s", "\u1100", "\u1161", "日",     " "};
      text += kParts[test::random_number(seed, i) % std::size(kParts)];
    }
    const NormalText normal = normalise_nfc(text);
    EXPECT_EQ(normalise_nfc(normal.text).text, normal.text);
    EXPECT_EQ(normal.source_end(0), 0u);
    EXPECT_EQ(normal.source_end(normal.text.size()), text.size());
    for (std::size_t end = 0; end < normal.text.size(); ++end) {
      EXPECT_LE(normal.source_end(end), normal.source_end(end + 1));
      // Up to a place outside every change, the source normalises to the text before that place.
      const auto within = [end](const auto& c) { return c.begin < end && end < c.end; };
      if (std::none_of(normal.changes.begin(), normal.changes.end(), within) &&
          (normal.text[end] & 0xc0) != 0x80) {
        EXPECT_EQ(normalise_nfc(text.substr(0, normal.source_end(end))).text, normal.text.substr(0, end));
      }
    }
  }
}

TEST(Unicode, NfcOfAMillionMarksTakesNoQuadraticTime) {
  std::string text = "a";
  for (int i = 0; i < 250'000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  const NormalText normal = normalise_nfc(text);
  EXPECT_EQ(normal.text.substr(0, 3), "\u1ea1");  // a with the dot below, which comes first
}

}  // namespace
}  // namespace mplus::io
