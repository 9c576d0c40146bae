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
  void end();  // the line ends; throws OutputLost if anything could not be written

 private:
  bool shown_;
  bool at_start_;
  int error_ = 0;  // the errno of a write that failed
  bool line_open_ = true;
  Terminal terminal_ = standard_output();
};

}  // namespace mplus::cli
