// Generated text on its way to standard output, piece by piece.
#pragma once

#include <string>
#include <string_view>

#include "mplus/cli/output/terminal.h"

namespace mplus::cli {

class AnswerStream {
 public:
  // `skip_leading_space`: an answer usually begins with the space that followed "Answer:".
  AnswerStream(bool shown, bool skip_leading_space) : shown_(shown), at_start_(skip_leading_space) {}

  // False once standard output takes no more: generation need not go on.
  bool write(std::string_view piece);
  void end();                               // the line ends; throws io if anything could not be written
  void write_aside(std::string_view text);  // after the end: what belongs to the answer but is not it

 private:
  bool shown_;
  bool at_start_;
  bool failed_ = false;
  bool line_open_ = true;
  Terminal terminal_ = standard_output();
};

}  // namespace mplus::cli
