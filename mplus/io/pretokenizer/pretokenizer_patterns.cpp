#include "mplus/io/pretokenizer/pretokenizer_patterns.h"

#include "mplus/core/text.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::io {
namespace {

// Looks at characters of valid text; past the end everything is `other` of length 0.
class Looker {
 public:
  explicit Looker(std::string_view text) : text_(text), kinds_(char_kinds()) {}

  bool at_end(std::size_t at) const { return at >= text_.size(); }
  char byte(std::size_t at) const { return at_end(at) ? '\0' : text_[at]; }
  bool is(std::size_t at, CharKind kind) const {
    return !at_end(at) && kinds_(utf8_char(text_.data() + at).code_point) == kind;
  }
  std::size_t next(std::size_t at) const { return at + utf8_char(text_.data() + at).length; }

  // The end of the run of `kind` at text[at], of at most `most` characters.
  std::size_t run(std::size_t at, CharKind kind, std::size_t most = SIZE_MAX) const {
    while (most-- > 0 && !at_end(at)) {
      const Utf8Char c = utf8_char(text_.data() + at);
      if (kinds_(c.code_point) != kind) break;
      at += c.length;
    }
    return at;
  }
  std::size_t line_breaks(std::size_t at) const {
    while (byte(at) == '\r' || byte(at) == '\n') ++at;
    return at;
  }

 private:
  std::string_view text_;
  const CharKinds& kinds_;
};

// 's|'t|'re|'ve|'m|'ll|'d, or `at` if none. Without case the long s (ſ, U+017F) is an s as well.
std::size_t contraction_end(const Looker& look, std::size_t at, bool any_case) {
  if (look.byte(at) != '\'') return at;
  const auto letter = [&](std::size_t i) { return any_case ? lower(look.byte(i)) : look.byte(i); };
  switch (letter(at + 1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return at + 2;
    case 'r':
    case 'v':
      return letter(at + 2) == 'e' ? at + 3 : at;
    case 'l':
      return letter(at + 2) == 'l' ? at + 3 : at;
    case '\xc5':
      return any_case && look.byte(at + 2) == '\xbf' ? at + 3 : at;
    default:
      return at;
  }
}

// \s+(?!\S)|\s+ : a run of white space leaves its last character to the word that follows, if it has two.
std::size_t spaces_end(const Looker& look, std::size_t at) {
  std::size_t last = at;
  std::size_t end = look.next(at);
  while (look.is(end, CharKind::space)) {
    last = end;
    end = look.next(end);
  }
  return look.at_end(end) || last == at ? end : last;
}

// \s*[\r\n]+ : up to the last line break of the run of white space, or `at` if there is none.
std::size_t last_line_break_end(const Looker& look, std::size_t at) {
  std::size_t end = at;
  while (look.is(at, CharKind::space)) {
    const bool line_break = look.byte(at) == '\r' || look.byte(at) == '\n';
    at = look.next(at);
    if (line_break) end = at;
  }
  return end;
}

}  // namespace

std::size_t gpt2_match_end(std::string_view text, std::size_t at) {
  const Looker look(text);
  if (const std::size_t end = contraction_end(look, at, false); end != at) return end;
  const std::size_t word = look.byte(at) == ' ' ? at + 1 : at;
  for (const CharKind kind : {CharKind::letter, CharKind::number, CharKind::other})
    if (const std::size_t end = look.run(word, kind); end != word) return end;
  return spaces_end(look, at);
}

std::size_t llama3_match_end(std::string_view text, std::size_t at, int longest_number) {
  const Looker look(text);
  if (const std::size_t end = contraction_end(look, at, true); end != at) return end;
  if (const std::size_t end = look.run(at, CharKind::letter); end != at) return end;
  const auto most = static_cast<std::size_t>(longest_number);
  if (const std::size_t end = look.run(at, CharKind::number, most); end != at) return end;
  if (look.line_breaks(at) == at) {  // one character that is no letter, number or line break may lead a word
    const std::size_t word = look.next(at);
    if (const std::size_t end = look.run(word, CharKind::letter); end != word) return end;
  }
  const std::size_t marks = look.byte(at) == ' ' ? at + 1 : at;
  if (const std::size_t end = look.run(marks, CharKind::other); end != marks) return look.line_breaks(end);
  if (const std::size_t end = last_line_break_end(look, at); end != at) return end;
  return spaces_end(look, at);
}

}  // namespace mplus::io
