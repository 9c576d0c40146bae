#include "mplus/documents/pdf.h"

#include <csignal>

#include "mplus/core/text.h"
#include "mplus/documents/limited_child.h"
#include "mplus/documents/page_text.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::documents {
namespace {

std::string_view first_line(std::string_view text) { return trim(text).substr(0, trim(text).find('\n')); }

[[noreturn]] void fail_exit(const Reading& reading, const ChildResult& result) {
  if (contains_ignoring_case(result.errors, "incorrect password"))
    reading.fail(ErrorCode::unsupported, "encrypted; save it without a password (qpdf --decrypt does)");
  const std::string said = io::to_valid_utf8(first_line(result.errors));
  reading.fail(ErrorCode::corrupt, "pdftotext cannot read it: {}",
               said.empty() ? fmt::format("exit status {}", result.status) : said);
}

void check_end(const Reading& reading, const ChildResult& result) {
  switch (result.end) {
    case ChildResult::End::out_of_time:
      reading.fail_time();
    case ChildResult::End::too_much_output:
      reading.fail_text_size();
    case ChildResult::End::killed_by_signal:
      if (result.status == SIGXCPU || result.status == SIGKILL) reading.fail_time();
      reading.fail(ErrorCode::corrupt, "pdftotext ended by signal {} while reading it", result.status);
    case ChildResult::End::exited:
      if (result.status != 0) fail_exit(reading, result);
  }
}

}  // namespace

std::string pdf_text(const Reading& reading, std::string_view bytes) {
  const std::string program = find_program("pdftotext");
  if (program.empty())
    reading.fail(
        ErrorCode::not_found,
        "reading PDF needs the program pdftotext, which is not on PATH: install the package poppler-utils");
  const ChildResult result =
      run_limited({program, "-enc", "UTF-8", "-nopgbrk", "-", "-"}, bytes,
                  {reading.deadline(), reading.limits().child_memory, reading.limits().text_bytes});
  check_end(reading, result);
  PageText page(reading);  // fonts may map to control characters
  page.add_as_is(io::to_valid_utf8(result.output));
  std::string text = page.take();
  if (trim(text).empty())
    reading.fail(ErrorCode::invalid_argument,
                 "no text in it: pictures of pages? Recognise their text first (ocrmypdf does)");
  return text;
}

}  // namespace mplus::documents
