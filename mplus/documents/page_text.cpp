#include "mplus/documents/page_text.h"

namespace mplus::documents {
namespace {

enum class Sign { text, space, nothing };
struct Step {
  Sign sign;
  std::size_t length;
};

// No-break spaces count as spaces; soft hyphens and control characters are not seen.
Step step(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return {Sign::space, 1};
  if (byte < 0x20 || byte == 0x7f) return {Sign::nothing, 1};
  if (text.substr(at, 2) == "\xc2\xa0") return {Sign::space, 2};
  if (text.substr(at, 2) == "\xc2\xad") return {Sign::nothing, 2};
  return {Sign::text, 1};
}

}  // namespace

void PageText::add(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto [sign, length] = step(text, at);
    if (sign != Sign::text) {
      put(text.substr(begin, at - begin));
      begin = at + length;
      if (sign == Sign::space) space_ = true;
    }
    at += length;
  }
  put(text.substr(begin));
}

void PageText::add_as_is(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte >= 0x20 && byte != 0x7f) || byte == '\t') continue;
    put(text.substr(begin, at - begin));
    begin = at + 1;
    if (byte == '\n') break_line();
  }
  put(text.substr(begin));
}

void PageText::end_paragraph() {
  const bool just_begun = !marker_.empty() || (in_row_ && !row_has_text_);
  breaks_ = just_begun ? std::max(breaks_, 1) : 2;
}

void PageText::begin_item(std::string marker) {
  end_line();
  marker_ = std::move(marker);
}

void PageText::begin_row() {
  end_line();
  in_row_ = first_cell_ = true;
  row_has_text_ = row_has_lines_ = false;
}

void PageText::begin_cell() {
  if (row_has_lines_) {
    end_line();
  } else if (!first_cell_) {
    ++bars_;
  }
  first_cell_ = false;
}

void PageText::end_row() {
  bars_ = 0;
  in_row_ = false;
  row_has_lines_ = true;  // of a row around this one
  end_line();
}

void PageText::separate() {
  if (bars_ > 0) {
    if (!row_has_text_ && !out_.empty()) out_.append(static_cast<std::size_t>(breaks_), '\n');
    for (int i = 0; i < bars_; ++i) out_ += row_has_text_ || i > 0 ? " |" : "|";
    out_ += ' ';
  } else if (breaks_ > 0) {
    if (!out_.empty()) out_.append(static_cast<std::size_t>(breaks_), '\n');
    if (row_has_text_) row_has_lines_ = true;
  } else if (space_ && !out_.empty()) {
    out_ += ' ';
  }
  out_ += marker_;
  breaks_ = bars_ = 0;
  space_ = false;
  marker_.clear();
}

void PageText::put(std::string_view run) {
  if (run.empty()) return;
  separate();
  row_has_text_ = true;
  if (run.size() > reading_.limits().text_bytes || out_.size() > reading_.limits().text_bytes - run.size())
    reading_.fail_text_size();
  out_ += run;
}

}  // namespace mplus::documents
