#include "mplus/io/pretokenizer/pretokenizer_regex.h"

#include <algorithm>
#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "mplus/core/error.h"
#include "mplus/io/text/names.h"

namespace mplus::io {
namespace {

constexpr std::size_t kLongestPattern = 16384;

std::string pcre_message(int code) {
  std::array<PCRE2_UCHAR, 160> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// Oniguruma's \s is White_Space; PCRE2's also holds U+180E.
std::string with_our_white_space(std::string_view pattern) {
  constexpr std::string_view kMembers =
      R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char escaped = c == '\\' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (escaped == 's') {
      out += in_class ? std::string(kMembers) : fmt::format("[{}]", kMembers);
    } else if (escaped == 'S' && !in_class) {
      out += fmt::format("[^{}]", kMembers);
    } else {
      out.append(pattern, i, escaped == '\0' ? 1 : 2);
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
    }
    if (escaped != '\0') ++i;
  }
  return out;
}

using CompileContext = std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)>;

// Steps grow with the text, since a plain \s* may have to look back over all of it; backtracking that
// explodes passes any such line.
std::shared_ptr<pcre2_match_context> match_limits(std::size_t text_size) {
  std::shared_ptr<pcre2_match_context> context(pcre2_match_context_create(nullptr),
                                               &pcre2_match_context_free);
  if (!context) throw std::bad_alloc();
  const auto steps = static_cast<std::uint32_t>(std::min<std::size_t>(100'000 + 16 * text_size, UINT32_MAX));
  pcre2_set_match_limit(context.get(), steps);
  pcre2_set_heap_limit(context.get(), 256 * 1024);  // kibibytes
  return context;
}

}  // namespace

Regex::Regex(std::string_view pattern, std::string_view name) : pattern_(pattern), name_(name) {
  if (pattern.size() > kLongestPattern)
    fail(ErrorCode::unsupported, "{}: pre_tokenizer: pattern: expected at most {} bytes, found {}", name,
         kLongestPattern, pattern.size());
  const std::string ours = with_our_white_space(pattern);
  int error = 0;
  PCRE2_SIZE where = 0;
  // Ruby's syntax, which Oniguruma reads by default: ^ and $ know lines.
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  const CompileContext context(pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (!context) throw std::bad_alloc();
  pcre2_set_parens_nest_limit(context.get(), 64);
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(ours.data()), ours.size(), kOptions, &error, &where,
                            context.get()),
              &pcre2_code_free);
  if (!code_)
    fail(ErrorCode::unsupported, "{}: pre_tokenizer: pattern {}: {}", name, shown(pattern),
         pcre_message(error));
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // where there is none, pcre2_match interprets
}

Regex::Search::Search(const Regex& regex, std::string_view text)
    : regex_(regex),
      text_(text),
      limits_(match_limits(text.size())),
      data_(pcre2_match_data_create(1, nullptr), &pcre2_match_data_free) {
  if (!data_) throw std::bad_alloc();
}

Regex::Match Regex::Search::next(std::size_t from) {
  const auto search = [&](std::uint32_t options) {
    return pcre2_match(regex_.code_.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), from,
                       PCRE2_NO_UTF_CHECK | options, data_.get(), limits_.get());
  };
  int found = search(0);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT)
    found = search(PCRE2_NO_JIT);  // the interpreter's stack is the heap
  if (found == PCRE2_ERROR_NOMATCH) return {text_.size() + 1, text_.size() + 1};
  if (found < 0)
    fail(ErrorCode::out_of_capacity, "{}: pre_tokenizer: pattern {}: on a text of {} bytes: {}", regex_.name_,
         shown(regex_.pattern_), text_.size(), pcre_message(found));
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data_.get());
  if (ends[0] < from || ends[1] < ends[0])  // \K in a look-around
    fail(ErrorCode::unsupported, "{}: pre_tokenizer: pattern {}: matches end before they begin", regex_.name_,
         shown(regex_.pattern_));
  return {ends[0], ends[1]};
}

}  // namespace mplus::io
