#include "mplus/cli/output/answer_output.h"

#include "mplus/cli/output/print.h"

namespace mplus::cli {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

bool AnswerStream::write(std::string_view piece) {
  if (at_start_) {
    piece.remove_prefix(std::min(piece.find_first_not_of(kSpace), piece.size()));
    if (piece.empty()) return true;
    at_start_ = false;
  }
  if (!shown_ || piece.empty()) return true;
  // A pipe gets the bytes as they are; a terminal must not obey them.
  if (error_ == 0) error_ = write_to_output(terminal_.is_terminal ? printable(piece) : std::string(piece));
  line_open_ = piece.back() != '\n';
  return error_ == 0;
}

void AnswerStream::end() {
  if (error_ != 0) throw OutputLost(error_);
  if (shown_ && line_open_) put("\n");
}

}  // namespace mplus::cli
