#include "mplus/eval/metric/words.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>

#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::eval {
namespace {

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_word(char32_t c) {  // what a regular expression's \w takes
  if (c < 0x80) return c == '_' || std::isalnum(static_cast<int>(c));
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return false;
  }
}

void append(std::string& out, char32_t c) {
  std::uint8_t bytes[4];
  const auto n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}

// Calls f(code point, its bytes) for every character; bytes that are none are passed over.
template <class F>
void each_character(std::string_view text, const F& f) {
  for (std::size_t at = 0; at < text.size();) {
    const io::Utf8Step step = io::utf8_step(text, at);
    if (step.validity == io::Utf8Step::Validity::valid) f(step.code_point, text.substr(at, step.length));
    at += step.length;
  }
}

std::string single_spaced(std::string_view text) {
  std::string out;
  bool gap = false;
  each_character(text, [&](char32_t c, std::string_view bytes) {
    if (is_space(c)) {
      gap = !out.empty();
      return;
    }
    if (gap) out += ' ';
    gap = false;
    out += bytes;
  });
  return out;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t c, std::string_view) {
    append(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  });
  return out;
}

std::string without_punctuation(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](char c) { return !std::ispunct(static_cast<unsigned char>(c)) || (c & 0x80); });
  return out;
}

std::string without_words(std::string_view text, const std::vector<std::string>& words) {
  std::string out, word;
  const auto flush = [&] {
    if (std::find(words.begin(), words.end(), word) == words.end()) out += word;
    else out += ' ';
    word.clear();
  };
  each_character(text, [&](char32_t c, std::string_view bytes) {
    if (is_word(c)) {
      word += bytes;
      return;
    }
    if (!word.empty()) flush();
    out += bytes;
  });
  if (!word.empty()) flush();
  return out;
}

std::string normalised(std::string_view text) {
  return single_spaced(without_words(without_punctuation(lower_case(text)), {"a", "an", "the"}));
}

std::vector<std::string> split_words(std::string_view text) {
  const std::string spaced = single_spaced(text);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < spaced.size();) {
    const std::size_t end = std::min(spaced.find(' ', at), spaced.size());
    words.push_back(spaced.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string first_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  text = text.substr(begin);
  text = text.substr(0, text.find('\n'));
  return std::string(text.substr(0, text.find_last_not_of(" \t\r") + 1));
}

std::string plain_words(std::string_view text) {
  std::string out;
  bool gap = false;
  each_character(text, [&](char32_t c, std::string_view) {
    if (!is_word(c) || c == '_') {
      gap = !out.empty();
      return;
    }
    if (gap) out += ' ';
    gap = false;
    append(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  });
  return out;
}

bool has_words(std::string_view text, std::string_view words) {
  if (words.empty()) return false;
  for (std::size_t at = text.find(words); at != std::string_view::npos; at = text.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

}  // namespace mplus::eval
