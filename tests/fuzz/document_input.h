// A fuzzer's bytes as a document. Archives carry checksums, which changes to their bytes do not get past: so
// the input may also be the parts themselves, and the archive is made here.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/documents/document.h"
#include "mplus/io/pretokenizer/unicode.h"
#include "tests/documents/zip_file.h"
#include "tests/fuzz/accept.h"

namespace mplus::documents::test {

// Small enough that an input which passes one is soon done.
inline DocumentLimits fuzz_limits() {
  return {.text_bytes = 1 << 20, .unpacked_bytes = 4 << 20, .time = std::chrono::seconds(5)};
}

// The first line is the media type.
inline std::string read_html_input(std::string_view input) {
  const std::size_t line = std::min(input.find('\n'), input.size());
  const std::string_view page = input.substr(std::min(line + 1, input.size()));
  return document_text(page, DocumentKind::html, "page", fuzz_limits(), input.substr(0, line));
}

// An archive, or its parts with bytes 0xff between them, which no UTF-8 has: a .docx, or an EPUB where the
// first one is empty.
inline std::string read_archive_input(std::string_view input) {
  if (input.starts_with("PK"))
    return document_text(input, document_kind("", "", input), "archive", fuzz_limits());
  constexpr std::array<std::string_view, 6> kNames{"word/document.xml", "META-INF/container.xml",
                                                   "b/p.opf",           "b/c.xhtml",
                                                   "b/d.html",          "META-INF/encryption.xml"};
  std::vector<ZipPart> parts;
  for (const std::string_view name : kNames) {
    const std::string_view content = input.substr(0, input.find('\xff'));
    if (!content.empty()) parts.push_back({name, content});
    input.remove_prefix(std::min(content.size() + 1, input.size()));
  }
  const bool is_docx = !parts.empty() && parts[0].name == kNames[0];
  return document_text(zip_file(parts), is_docx ? DocumentKind::docx : DocumentKind::epub, "parts",
                       fuzz_limits());
}

// Whatever is read is a text: valid UTF-8, within its limit.
template <class Read>
int fuzz_document(const std::uint8_t* data, std::size_t size, Read&& read) {
  io::test::accept_errors([&] {
    const std::string text = read(std::string_view(reinterpret_cast<const char*>(data), size));
    MPLUS_CHECK(io::valid_utf8_length(text, 0) == text.size(), "{}", text.size());
    MPLUS_CHECK(!text.empty() && text.size() <= fuzz_limits().text_bytes, "{}", text.size());
  });
  return 0;
}

}  // namespace mplus::documents::test
