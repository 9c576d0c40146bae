#include "mplus/io/text/json_lines.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/scratch.h"

// Every line that is read as an object is an object again when it is written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  const auto file = test::scratch().write("lines.jsonl", test::input_bytes(data, size));
  test::accept_errors([&] {
    JsonLines lines(file);
    Json object;
    while (lines.next(object))
      MPLUS_CHECK(parse_json(object.dump(), "written") == object, "{}", lines.line());
  });
  test::accept_errors([&] {
    JsonLines lines(file);
    std::string line;
    while (lines.next_line(line)) MPLUS_CHECK(line.find('\n') == std::string::npos, "{}", lines.line());
  });
  return 0;
}
