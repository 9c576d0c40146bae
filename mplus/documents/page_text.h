// Text as it is laid out: white space collapses, and paragraphs, lines, list items and table rows become
// lines. What separates two pieces of text is decided when the second one comes, so that nothing is left at
// either end.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "mplus/documents/reading.h"

namespace mplus::documents {

class PageText {
 public:
  explicit PageText(const Reading& reading) : reading_(reading) {}

  void add(std::string_view text);        // UTF-8; any white space is one space
  void add_as_is(std::string_view text);  // keeps spaces, tabs and lines
  void break_line() { breaks_ = std::min(breaks_ + 1, 2); }
  void end_line() { breaks_ = std::max(breaks_, 1); }
  void end_paragraph();  // an empty line follows, unless a list item or a row has just begun

  void begin_item(std::string marker);  // "- ": stands before the next text, on a line of its own
  void begin_row();
  void begin_cell();  // on the row's line, unless a cell before it took several lines
  void end_row();

  std::string take() { return std::move(out_); }

 private:
  void separate();
  void put(std::string_view run);

  const Reading& reading_;
  std::string out_;
  // What the next text is separated by.
  int breaks_ = 0;
  int bars_ = 0;  // between cells; stronger than breaks, since a cell may hold a paragraph
  bool space_ = false;
  std::string marker_;
  // Of the row that is being read.
  bool in_row_ = false;
  bool first_cell_ = true;
  bool row_has_text_ = false;
  bool row_has_lines_ = false;
};

}  // namespace mplus::documents
