// UTF-8 one character at a time, the four kinds of characters that cutting text into words asks about, and
// NFC. Kinds come from our own tables (unicode_ranges.h): the same tokens on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::io {

// The character that starts at text[at]. Of bytes that are none, `length` is the longest start of a character
// they make (at least 1): what stands for one U+FFFD.
struct Utf8Step {
  enum class Validity { valid, invalid, incomplete };  // incomplete: the text ends within a character
  Validity validity;
  std::uint32_t length;
  char32_t code_point;  // of a valid one
};
Utf8Step utf8_step(std::string_view text, std::size_t at);

// How many bytes from text[at] on are whole, valid characters.
std::size_t valid_utf8_length(std::string_view text, std::size_t at);

// The text with every invalid stretch as U+FFFD.
std::string to_valid_utf8(std::string_view text);

// A character of text known to be valid.
struct Utf8Char {
  char32_t code_point;
  std::uint32_t length;
};
inline Utf8Char utf8_char(const char* p) {
  const auto byte = [p](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(p[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (lead < 0xf0) return {(lead & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

// \p{L}, \p{N}, \s and everything else.
enum class CharKind : std::uint8_t { other, letter, number, space };

// Kinds of all code points: pages of 256, equal pages stored once.
class CharKinds {
 public:
  CharKinds();
  CharKind operator()(char32_t c) const {
    return c < 0x110000 ? pages_[pages_of_[c >> 8] * std::size_t{256} + (c & 0xff)] : CharKind::other;
  }

 private:
  std::vector<std::uint8_t> pages_of_;
  std::vector<CharKind> pages_;
};
const CharKinds& char_kinds();

// What Hugging Face's Digits step calls a digit: numbers, with those of Unicode 17.
bool is_digit(char32_t c);

// Text in normal form C, and where it came from. Bytes that are not valid UTF-8 stay as they are.
struct NormalText {
  std::string text;
  // A changed stretch: text[begin, end) was source[source_begin, source_end). Sorted; outside them only
  // shifted.
  struct Change {
    std::size_t begin, end, source_begin, source_end;
  };
  std::vector<Change> changes;

  // Where in the source a token that ends at text[end] stops. A changed stretch belongs as a whole to the
  // token that holds its first byte.
  std::size_t source_end(std::size_t end) const;
};
NormalText normalise_nfc(std::string_view text);

}  // namespace mplus::io
