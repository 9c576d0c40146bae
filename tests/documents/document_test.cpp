// Which kind a document is, text as it stands, and the files in tests/data/documents.
#include "mplus/documents/document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "mplus/core/files/file.h"
#include "tests/io/expect_error.h"

namespace mplus::documents {
namespace {

std::string text_of_file(const std::string& name, const DocumentLimits& limits = {}) {
  const std::string bytes = read_text_file(std::filesystem::path(MPLUS_TEST_DATA "/documents") / name);
  return document_text(bytes, document_kind(name, "", bytes), name, limits);
}

std::string text(std::string_view bytes) { return document_text(bytes, DocumentKind::text, "a.txt"); }

TEST(DocumentKind, IsToldByContentThenMediaTypeThenName) {
  const auto kind = [](std::string_view name, std::string_view media_type, std::string_view bytes) {
    return document_kind(name, media_type, bytes);
  };
  EXPECT_EQ(kind("a.txt", "text/plain", "%PDF-1.7\n"), DocumentKind::pdf);
  EXPECT_EQ(kind("a.pdf", "", "\xef\xbb\xbf <?xml version='1.0'?><!-- x --> <!DOCTYPE HTML>"),
            DocumentKind::html);
  EXPECT_EQ(kind("a", "", "<HTML lang=de>"), DocumentKind::html);
  EXPECT_EQ(kind("a.docx", "", "PK\3\4 … META-INF/container.xml"), DocumentKind::epub);
  EXPECT_EQ(kind("a.epub", "", "PK\3\4 … word/document.xml"), DocumentKind::docx);
  EXPECT_EQ(kind("a.md", "Text/HTML; charset=utf-8", "words"), DocumentKind::html);
  EXPECT_EQ(kind("a.html", "text/plain", "words"), DocumentKind::text);
  EXPECT_EQ(kind("dir.pdf/A.MarkDown", "application/octet-stream", "words"), DocumentKind::markdown);
  EXPECT_EQ(kind("x.htm", "", ""), DocumentKind::html);
  for (const std::string_view name : {"", ".", "README", "a.xyz", "html", "a.html/b"})
    EXPECT_EQ(kind(name, "", "<p>words"), DocumentKind::text) << name;
}

TEST(DocumentKind, FoldersAreWalkedForTheseEndings) {
  for (const char* name :
       {"a.txt", "A.TEXT", "a.md", "a.markdown", "a.html", "a.HTM", "a.xhtml", "a.pdf", "a.epub", "a.docx"})
    EXPECT_TRUE(is_document_name(name)) << name;
  for (const char* name : {"a", "a.png", "a.doc", "a.zip", "txt", "a.txt~"})
    EXPECT_FALSE(is_document_name(name)) << name;
}

TEST(PlainText, StaysAsItIs) {
  EXPECT_EQ(text("\xef\xbb\xbf a\r\n\tb <p>\n"), " a\r\n\tb <p>\n");
  EXPECT_EQ(document_text("# T\n* x", DocumentKind::markdown, "a.md"), "# T\n* x");
}

TEST(PlainText, IsRefusedWhereItIsNone) {
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("a.txt: ", "byte 3 is 0xe9"), text("caf\xe9"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("a.txt: ", "zero byte at 1"),
                     text(std::string_view("a\0b", 3)));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("a.txt: ", ".docx"),
                     text("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old"));
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("a.txt: ", "3 bytes"),
                     document_text("four", DocumentKind::text, "a.txt", {.text_bytes = 3}));
}

TEST(EveryKind, OfNothingIsRefused) {
  for (const auto kind : {DocumentKind::text, DocumentKind::markdown, DocumentKind::html, DocumentKind::pdf,
                          DocumentKind::epub, DocumentKind::docx})
    for (const std::string_view nothing : {"", " \n\t\r\n"})
      EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("n: empty"), document_text(nothing, kind, "n"));
}

TEST(Epub, IsReadInTheOrderOfItsSpine) {
  EXPECT_EQ(text_of_file("book.epub"),
            "The Lamp Room\n\nFirst\n\nIngrid keeps the lamp caf\u00e9.\n\nSecond\n\nThe key hangs behind "
            "the stove.");
}

TEST(Docx, IsReadWithListsTablesAndNotes) {
  EXPECT_EQ(text_of_file("report.docx"),
            "Harbour report\n\nThe lamp is green & bright.[2]\n\nLeft\tright\nbelow\n\n- rope\n  - anchor\n\n"
            "Boat | Berth\nZivora the old | 7\n\nEnd.\n\n[2] Seen by the clerk.");
}

TEST(Docx, ThatUnpacksToTooMuchIsRefused) {
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("bomb.docx: ", "4194304"),
                     text_of_file("bomb.docx", {.unpacked_bytes = 4 << 20}));
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("bomb.docx: ", "1000 bytes of text"),
                     text_of_file("bomb.docx", {.text_bytes = 1000}));
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("bomb.docx: ", "longer than 0 ms"),
                     text_of_file("bomb.docx", {.time = std::chrono::milliseconds(0)}));
}

TEST(Documents, OfAllKindsAreReadByThreadsAtOnce) {
  const auto all = [] {
    return text_of_file("book.epub") + text_of_file("report.docx") + text_of_file("paper.pdf");
  };
  const std::string expected = all();
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  for (std::string& mine : got) threads.emplace_back([&] { mine = all(); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& mine : got) EXPECT_EQ(mine, expected);
}

}  // namespace
}  // namespace mplus::documents
