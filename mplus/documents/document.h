// Documents as plain text: text, Markdown, HTML, PDF, EPUB and .docx. Nothing in a document is believed; its
// reader stops at the limits. Any number of threads may read documents at the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace mplus::documents {

enum class DocumentKind { text, markdown, html, pdf, epub, docx };

// By content (the first bytes), then by media type ("text/html; charset=…", may be empty), then by the ending
// of the name. What none of them tells is text.
DocumentKind document_kind(std::string_view name, std::string_view media_type, std::string_view bytes);

// Whether the ending of a file's name is that of a kind of document.
bool is_document_name(std::string_view name);

struct DocumentLimits {
  std::size_t text_bytes = std::size_t{64} << 20;       // of the plain text
  std::size_t unpacked_bytes = std::size_t{256} << 20;  // of all parts that are read of an archive; of HTML
  std::chrono::milliseconds time = std::chrono::seconds(60);
  std::size_t child_memory = std::size_t{1} << 30;  // address space of pdftotext
};

// The text: valid UTF-8, without zero bytes, and more than white space. Throws Error with a message that
// begins with `name`; codes: unsupported (not such a document, encrypted), corrupt, out_of_capacity (a
// limit), invalid_argument (nothing to read in it), not_found (no pdftotext), io. A charset that the media
// type names is that of HTML which does not tell its own by a byte order mark and is not UTF-8.
std::string document_text(std::string_view bytes, DocumentKind kind, std::string_view name,
                          const DocumentLimits& limits = {}, std::string_view media_type = {});

}  // namespace mplus::documents
