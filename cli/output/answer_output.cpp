#include "mplus/cli/output/answer_output.h"

#include "mplus/core/error.h"

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
  failed_ = failed_ || !put(terminal_.is_terminal ? printable(piece) : std::string(piece));
  line_open_ = piece.back() != '\n';
  return !failed_;
}

void AnswerStream::end() {
  if (shown_ && line_open_) failed_ = failed_ || !put("\n");
  if (failed_) fail(ErrorCode::io, "standard output: cannot write");
}

void AnswerStream::write_aside(std::string_view text) {
  if (!put(text)) fail(ErrorCode::io, "standard output: cannot write");
}

}  // namespace mplus::cli
