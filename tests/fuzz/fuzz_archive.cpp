#include "tests/fuzz/document_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::documents::test;
  return fuzz_document(data, size, read_archive_input);
}
