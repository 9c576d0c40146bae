#include "mplus/documents/document.h"

#include <array>
#include <optional>

#include "mplus/core/text.h"
#include "mplus/documents/docx.h"
#include "mplus/documents/epub.h"
#include "mplus/documents/html.h"
#include "mplus/documents/pdf.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::documents {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kOldOffice = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";  // a compound file

struct Named {
  std::string_view name;
  DocumentKind kind;
};
constexpr std::array<Named, 10> kEndings{{{".txt", DocumentKind::text},
                                          {".text", DocumentKind::text},
                                          {".md", DocumentKind::markdown},
                                          {".markdown", DocumentKind::markdown},
                                          {".html", DocumentKind::html},
                                          {".htm", DocumentKind::html},
                                          {".xhtml", DocumentKind::html},
                                          {".pdf", DocumentKind::pdf},
                                          {".epub", DocumentKind::epub},
                                          {".docx", DocumentKind::docx}}};
constexpr std::array<Named, 8> kMediaTypes{
    {{"text/plain", DocumentKind::text},
     {"text/markdown", DocumentKind::markdown},
     {"text/x-markdown", DocumentKind::markdown},
     {"text/html", DocumentKind::html},
     {"application/xhtml+xml", DocumentKind::html},
     {"application/pdf", DocumentKind::pdf},
     {"application/epub+zip", DocumentKind::epub},
     {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", DocumentKind::docx}}};

template <std::size_t N>
std::optional<DocumentKind> look_up(const std::array<Named, N>& table, std::string_view name) {
  for (const Named& entry : table)
    if (entry.name.size() == name.size() && contains_ignoring_case(name, entry.name)) return entry.kind;
  return {};
}

std::optional<DocumentKind> kind_by_ending(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? std::nullopt : look_up(kEndings, name.substr(dot));
}

bool starts_ignoring_case(std::string_view text, std::string_view start) {
  return contains_ignoring_case(text.substr(0, start.size()), start);
}

// Behind a declaration <?…?>, comments and white space.
bool begins_html(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (;;) {
    text = trim(text);
    const std::string_view end = text.starts_with("<?") ? "?>" : text.starts_with("<!--") ? "-->" : "";
    const std::size_t at = text.find(end);
    if (end.empty() || at == text.npos) break;
    text.remove_prefix(at + end.size());
  }
  return starts_ignoring_case(text, "<!doctype html") || starts_ignoring_case(text, "<html");
}

// Names of parts stand as they are in an archive.
std::optional<DocumentKind> kind_by_content(std::string_view bytes) {
  constexpr std::size_t kHead = 4096;
  if (bytes.starts_with("%PDF-")) return DocumentKind::pdf;
  if (bytes.starts_with("PK\x03\x04"))
    return bytes.find("META-INF/container.xml") != bytes.npos ? DocumentKind::epub : DocumentKind::docx;
  if (begins_html(bytes.substr(0, kHead))) return DocumentKind::html;
  return {};
}

// Text as it stands, if it is one.
std::string plain_text(const Reading& reading, std::string_view bytes) {
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());  // no part of the text
  if (bytes.size() > reading.limits().text_bytes) reading.fail_text_size();
  const std::size_t zero = bytes.find('\0');
  const std::size_t valid = io::valid_utf8_length(bytes, 0);
  if (zero < valid)
    reading.fail(ErrorCode::unsupported, "not a text: it has a zero byte at {} (binary, or UTF-16?)", zero);
  if (valid < bytes.size())
    reading.fail(ErrorCode::unsupported, "not a text in UTF-8: byte {} is 0x{:02x}", valid,
                 static_cast<unsigned char>(bytes[valid]));
  return std::string(bytes);
}

std::string html_text(const Reading& reading, std::string_view bytes, std::string_view media_type) {
  PageText page(reading);
  add_html(reading, bytes, media_type, HtmlTitle::shown, page);
  return page.take();
}

std::string read_kind(const Reading& reading, std::string_view bytes, DocumentKind kind,
                      std::string_view media_type) {
  switch (kind) {
    case DocumentKind::html:
      return html_text(reading, bytes, media_type);
    case DocumentKind::pdf:
      return pdf_text(reading, bytes);
    case DocumentKind::epub:
      return epub_text(reading, bytes);
    case DocumentKind::docx:
      return docx_text(reading, bytes);
    case DocumentKind::text:
    case DocumentKind::markdown:
      break;
  }
  return plain_text(reading, bytes);
}

}  // namespace

DocumentKind document_kind(std::string_view name, std::string_view media_type, std::string_view bytes) {
  if (const auto kind = kind_by_content(bytes)) return *kind;
  if (const auto kind = look_up(kMediaTypes, trim(media_type.substr(0, media_type.find(';'))))) return *kind;
  return kind_by_ending(name).value_or(DocumentKind::text);
}

bool is_document_name(std::string_view name) { return kind_by_ending(name).has_value(); }

std::string document_text(std::string_view bytes, DocumentKind kind, std::string_view name,
                          const DocumentLimits& limits, std::string_view media_type) {
  const Reading reading(name, limits);
  if (bytes.starts_with(kOldOffice))
    reading.fail(ErrorCode::unsupported,
                 "an Office file of before 2007, or one with a password; save it as .docx without one");
  std::string text = trim(bytes).empty() ? "" : read_kind(reading, bytes, kind, media_type);
  if (trim(text).empty()) reading.fail(ErrorCode::invalid_argument, "empty: there is nothing to read in it");
  // Of a page in XML or HTML, which is not ours to trust: the parser says it is.
  return io::valid_utf8_length(text, 0) == text.size() ? text : io::to_valid_utf8(text);
}

}  // namespace mplus::documents
