#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::io {
namespace {

constexpr std::uint32_t kLastCodePoint = 0x10ffff;
constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

// One character's canonical decomposition.
class Decomposition {
 public:
  explicit Decomposition(std::uint32_t c) {
    int last_bound_class = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts_.data(),
                                               static_cast<utf8proc_ssize_t>(parts_.size()),
                                               UTF8PROC_DECOMPOSE, &last_bound_class);
    MPLUS_CHECK(count >= 0 && count <= static_cast<utf8proc_ssize_t>(parts_.size()), "U+{:04X}: {}", c,
                count);
    count_ = count;
  }
  const utf8proc_int32_t* begin() const { return parts_.data(); }
  const utf8proc_int32_t* end() const { return parts_.data() + count_; }

 private:
  std::array<utf8proc_int32_t, 16> parts_{};
  utf8proc_ssize_t count_ = 0;
};

// Characters that may join what stands before them: those with a combining class, and whatever follows the
// first one in some canonical decomposition (Hangul's vowels and finals among them). Text can be cut before
// all others.
std::vector<bool> find_joining() {
  std::vector<bool> joins(kLastCodePoint + 1, false);
  for (std::uint32_t c = 0; c <= kLastCodePoint; ++c) {
    const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    if (property->combining_class != 0) joins[c] = true;
    const bool hangul = c >= 0xac00 && c <= 0xd7a3;
    if (!hangul && property->decomp_seqindex == UINT16_MAX) continue;
    const Decomposition parts(c);
    for (const auto* part = parts.begin() + 1; part < parts.end(); ++part)
      joins[static_cast<std::size_t>(*part)] = true;
  }
  return joins;
}

// The end of the stretch that starts at text[at] and that nothing after it can change.
std::size_t stretch_end(std::string_view text, std::size_t at, std::size_t end) {
  static const std::vector<bool> joins = find_joining();
  at += utf8_char(text.data() + at).length;
  while (at < end) {
    const Utf8Char c = utf8_char(text.data() + at);
    if (!joins[c.code_point]) break;
    at += c.length;
  }
  return at;
}

// Canonical decomposition of valid text, marks in canonical order. (The library's own ordering takes
// quadratic time, which a text of a million marks would turn into hours.)
std::vector<utf8proc_int32_t> decompose(std::string_view text) {
  std::vector<utf8proc_int32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_char(text.data() + at);
    at += c.length;
    const Decomposition parts(c.code_point);
    out.insert(out.end(), parts.begin(), parts.end());
  }
  const auto order = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
  for (auto first = out.begin(); first != out.end();) {
    first = std::find_if(first, out.end(), [&](utf8proc_int32_t c) { return order(c) != 0; });
    const auto last = std::find_if(first, out.end(), [&](utf8proc_int32_t c) { return order(c) == 0; });
    std::stable_sort(first, last, [&](auto a, auto b) { return order(a) < order(b); });
    first = last;
  }
  return out;
}

std::string nfc(std::string_view text) {
  std::vector<utf8proc_int32_t> code_points = decompose(text);
  const auto count = utf8proc_normalize_utf32(code_points.data(),
                                              static_cast<utf8proc_ssize_t>(code_points.size()), kCompose);
  MPLUS_CHECK(count >= 0, "utf8proc: {}", utf8proc_errmsg(count));
  code_points.resize(static_cast<std::size_t>(count));
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t c : code_points) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto length = utf8proc_encode_char(c, bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
  }
  return out;
}

void append_nfc(NormalText& out, std::string_view text, std::size_t begin, std::size_t end) {
  while (begin < end) {
    std::size_t plain = begin;  // ASCII followed by ASCII is as it should be
    while (plain < end && static_cast<unsigned char>(text[plain]) < 0x80) ++plain;
    if (plain > begin && plain < end) --plain;
    out.text.append(text, begin, plain - begin);
    if (plain == end) return;
    const std::size_t stop = stretch_end(text, plain, end);
    const std::string_view before = text.substr(plain, stop - plain);
    const std::string after = nfc(before);
    const std::size_t at = out.text.size();
    out.text += after;
    if (after != before) out.changes.push_back({at, at + after.size(), plain, stop});
    begin = stop;
  }
}

}  // namespace

std::size_t NormalText::source_end(std::size_t end) const {
  // The last change that starts before `end` decides: within it, or shifted by all up to it.
  const auto after = std::partition_point(changes.begin(), changes.end(),
                                          [end](const Change& change) { return change.begin < end; });
  if (after == changes.begin()) return end;
  const Change& change = *(after - 1);
  return end <= change.end ? change.source_end : change.source_end + (end - change.end);
}

NormalText normalise_nfc(std::string_view text) {
  NormalText out;
  out.text.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t good = valid_utf8_length(text, at);
    append_nfc(out, text, at, at + good);
    at += good;
    if (at == text.size()) break;
    const std::size_t bad = utf8_step(text, at).length;
    out.text.append(text, at, bad);
    at += bad;
  }
  return out;
}

}  // namespace mplus::io
