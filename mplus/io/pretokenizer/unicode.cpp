#include "mplus/io/pretokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "mplus/io/pretokenizer/unicode_ranges.h"

namespace mplus::io {
namespace {

constexpr std::size_t kPage = 256;
constexpr std::size_t kCodePoints = 0x110000;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// White_Space, which is what \s means to Oniguruma. It has not changed since Unicode 6.3.
constexpr CodePointRange kSpaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                                      {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                                      {0x205f, 0x205f}, {0x3000, 0x3000}};

// Of the second byte of a character, the range its first byte leaves open (Unicode, table 3-7).
struct Lead {
  std::uint32_t length;  // 0: no character starts with this byte
  std::uint8_t second_least, second_most;
};
Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte < 0xf0) {
    return {3, static_cast<std::uint8_t>(byte == 0xe0 ? 0xa0 : 0x80),
            static_cast<std::uint8_t>(byte == 0xed ? 0x9f : 0xbf)};
  }
  if (byte > 0xf4) return {0, 0, 0};
  return {4, static_cast<std::uint8_t>(byte == 0xf0 ? 0x90 : 0x80),
          static_cast<std::uint8_t>(byte == 0xf4 ? 0x8f : 0xbf)};
}

void paint(std::vector<CharKind>& kinds, std::span<const CodePointRange> ranges, CharKind kind) {
  for (const CodePointRange& r : ranges) std::fill(kinds.begin() + r.first, kinds.begin() + r.last + 1, kind);
}

}  // namespace

Utf8Step utf8_step(std::string_view text, std::size_t at) {
  using Validity = Utf8Step::Validity;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.length == 0) return {Validity::invalid, 1, 0};
  for (std::uint32_t i = 1; i < lead.length; ++i) {
    if (at + i == text.size()) return {Validity::incomplete, i, 0};
    const std::uint8_t least = i == 1 ? lead.second_least : 0x80;
    const std::uint8_t most = i == 1 ? lead.second_most : 0xbf;
    if (byte(i) < least || byte(i) > most) return {Validity::invalid, i, 0};
  }
  return {Validity::valid, lead.length, utf8_char(text.data() + at).code_point};
}

std::size_t valid_utf8_length(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size()) {
    std::uint64_t eight;
    if (text.size() - end >= sizeof eight) {
      std::memcpy(&eight, text.data() + end, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        end += sizeof eight;
        continue;
      }
    }
    const Utf8Step step = utf8_step(text, end);
    if (step.validity != Utf8Step::Validity::valid) break;
    end += step.length;
  }
  return end - at;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t good = valid_utf8_length(text, at);
    out.append(text, at, good);
    at += good;
    if (at == text.size()) break;
    out += kReplacement;
    at += utf8_step(text, at).length;
  }
  return out;
}

CharKinds::CharKinds() {
  std::vector<CharKind> kinds(kCodePoints, CharKind::other);
  paint(kinds, letter_ranges(), CharKind::letter);
  paint(kinds, number_ranges(), CharKind::number);
  paint(kinds, kSpaces, CharKind::space);
  pages_of_.resize(kCodePoints / kPage);
  std::map<std::string_view, std::uint8_t> known;  // fewer than 256 different pages, checked by a test
  for (std::size_t page = 0; page < pages_of_.size(); ++page) {
    const auto* first = reinterpret_cast<const char*>(kinds.data() + page * kPage);
    const auto [at, fresh] = known.try_emplace({first, kPage}, static_cast<std::uint8_t>(known.size()));
    if (fresh) pages_.insert(pages_.end(), kinds.data() + page * kPage, kinds.data() + (page + 1) * kPage);
    pages_of_[page] = at->second;
  }
}

const CharKinds& char_kinds() {
  static const CharKinds kinds;
  return kinds;
}

bool is_digit(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  if ((c >= 0x11de0 && c <= 0x11de9) || (c >= 0x16ff4 && c <= 0x16ff6)) return true;  // Unicode 17
  return char_kinds()(c) == CharKind::number;
}

}  // namespace mplus::io
