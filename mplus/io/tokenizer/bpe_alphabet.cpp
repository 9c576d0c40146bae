#include "mplus/io/tokenizer/bpe_alphabet.h"

#include <array>

#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::io {
namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr std::size_t kStandIns = 68;  // bytes that are not printable

constexpr bool is_printable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Alphabet {
  std::array<char32_t, 256> chars{};
  std::array<std::uint8_t, kStandIns> stand_ins{};  // bytes behind U+0100 and on
};

constexpr Alphabet make_alphabet() {
  Alphabet a;
  std::size_t next = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!is_printable(byte)) a.stand_ins[next] = static_cast<std::uint8_t>(byte);
    a.chars[byte] = is_printable(byte) ? byte : kFirstStandIn + static_cast<char32_t>(next++);
  }
  return a;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

char32_t byte_to_char(std::uint8_t byte) { return kAlphabet.chars[byte]; }

std::optional<std::uint8_t> char_to_byte(char32_t c) {
  if (c < 0x100) return is_printable(c) ? std::optional(static_cast<std::uint8_t>(c)) : std::nullopt;
  if (c < kFirstStandIn + kStandIns) return kAlphabet.stand_ins[c - kFirstStandIn];
  return std::nullopt;
}

std::string spelled_byte(std::uint8_t byte) {
  const char32_t c = byte_to_char(byte);
  if (c < 0x80) return {static_cast<char>(c)};
  return {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
}

std::optional<std::string> spelled_bytes(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (std::size_t at = 0; at < token.size();) {
    const Utf8Step step = utf8_step(token, at);
    if (step.validity != Utf8Step::Validity::valid) return std::nullopt;
    const auto byte = char_to_byte(step.code_point);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    at += step.length;
  }
  return bytes;
}

}  // namespace mplus::io
