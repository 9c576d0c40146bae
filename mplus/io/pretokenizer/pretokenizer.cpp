#include "mplus/io/pretokenizer/pretokenizer.h"

#include "mplus/core/error.h"
#include "mplus/io/pretokenizer/pretokenizer_patterns.h"
#include "mplus/io/pretokenizer/pretokenizer_regex.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::io {
namespace {

// Calls cut(begin, end) for each digit, or run of digits, and each stretch between them.
template <class Cut>
void cut_digits(std::string_view text, bool whole_runs, Cut&& cut) {
  std::size_t begin = 0;
  bool in_digits = false;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = utf8_char(text.data() + at);
    const bool digit = is_digit(c.code_point);
    if (at > begin && (digit != in_digits || (digit && !whole_runs))) {
      cut(begin, at);
      begin = at;
    }
    in_digits = digit;
    at += c.length;
  }
  if (begin < text.size()) cut(begin, text.size());
}

template <class Cut>
void cut_matches(const Regex& regex, std::string_view text, Cut&& cut) {
  Regex::Search search(regex, text);
  std::size_t done = 0;
  for (std::size_t from = 0; from <= text.size();) {
    const Regex::Match match = search.next(from);
    if (match.begin > text.size()) break;
    if (match.begin > done) cut(done, match.begin);
    if (match.end > match.begin) cut(match.begin, match.end);
    done = match.end;
    from = match.end;  // an empty match: look again behind the next character
    if (match.end == match.begin) from += from < text.size() ? utf8_char(text.data() + from).length : 1;
  }
  if (done < text.size()) cut(done, text.size());
}

}  // namespace

PreTokenizer::PreTokenizer(const std::vector<PreTokenizerStep>& steps, std::string_view name, bool use_pcre) {
  using From = PreTokenizerStep::CutKind;
  for (const PreTokenizerStep& step : steps) {
    Step& to = steps_.emplace_back();
    switch (step.kind) {
      case From::digits:
        to.kind = Step::MatcherKind::digits;
        description_ += "digits\n";
        break;
      case From::digit_runs:
        to.kind = Step::MatcherKind::digit_runs;
        description_ += "digit runs\n";
        break;
      case From::prefix_space:
        to.kind = Step::MatcherKind::prefix_space;
        description_ += "prefix space\n";
        break;
      case From::pattern:
        description_ += "pattern " + step.pattern + "\n";
        if (!use_pcre && step.pattern == kGpt2Pattern) {
          to.kind = Step::MatcherKind::gpt2;
        } else if (!use_pcre && (step.pattern == kLlama3Pattern || step.pattern == kQwen2Pattern)) {
          to.kind = Step::MatcherKind::llama3;
          to.longest_number = step.pattern == kLlama3Pattern ? 3 : 1;
        } else {
          to.kind = Step::MatcherKind::regex;
          to.regex = std::make_shared<const Regex>(step.pattern, name);
        }
        break;
    }
  }
}

void PreTokenizer::split(std::string_view text, std::int64_t begin, Sink& sink) const {
  if (!text.empty()) run(0, text, begin, sink);
}

void PreTokenizer::run(std::size_t index, std::string_view text, std::int64_t begin, Sink& sink) const {
  if (index == steps_.size()) return sink.piece(text, begin);
  const Step& step = steps_[index];
  const auto cut = [&](std::size_t from, std::size_t to) {
    run(index + 1, text.substr(from, to - from), begin + static_cast<std::int64_t>(from), sink);
  };
  const auto repeat = [&](auto&& match_end) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = match_end(at);
      cut(at, end);
      at = end;
    }
  };
  switch (step.kind) {
    case Step::MatcherKind::digits:
      return cut_digits(text, false, cut);
    case Step::MatcherKind::digit_runs:
      return cut_digits(text, true, cut);
    case Step::MatcherKind::gpt2:
      return repeat([&](std::size_t at) { return gpt2_match_end(text, at); });
    case Step::MatcherKind::llama3:
      return repeat([&](std::size_t at) { return llama3_match_end(text, at, step.longest_number); });
    case Step::MatcherKind::regex:
      return cut_matches(*step.regex, text, cut);
    case Step::MatcherKind::prefix_space:
      if (text.front() == ' ') return cut(0, text.size());
      return run(index + 1, std::string(1, ' ').append(text), begin - 1, sink);
  }
}

}  // namespace mplus::io
