// EPUB and .docx that are damaged, or made to do harm.
#include <gtest/gtest.h>

#include <filesystem>

#include "mplus/core/files/file.h"
#include "mplus/documents/document.h"
#include "tests/documents/zip_file.h"
#include "tests/io/expect_error.h"

namespace mplus::documents {
namespace {

using test::zip_file;
using test::ZipPart;

constexpr std::string_view kContainer = "<container><rootfile full-path='b.opf'/></container>";

std::string package(std::string_view href) {
  return "<package><item id='i' href='" + std::string(href) +
         "' media-type='text/html'/><itemref idref='i'/></package>";
}

std::string epub(const std::vector<ZipPart>& parts) {
  return document_text(zip_file(parts), DocumentKind::epub, "b.epub");
}

std::string docx(std::string_view document) {
  return document_text(zip_file({{"word/document.xml", document}}), DocumentKind::docx, "d.docx");
}

TEST(Archive, DamagedAtAnyPlaceIsReadOrRefused) {
  for (const std::string name : {"book.epub", "report.docx"}) {
    const std::string whole = read_text_file(std::filesystem::path(MPLUS_TEST_DATA "/documents") / name);
    const DocumentKind kind = document_kind(name, "", whole);
    for (std::size_t length = 1; length < whole.size(); length += 7)
      EXPECT_THROW(document_text(whole.substr(0, length), kind, name), Error) << name << " " << length;
    for (std::size_t at = 0; at < whole.size(); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      try {
        EXPECT_FALSE(document_text(damaged, kind, name).empty());
      } catch (const Error& e) {
        EXPECT_TRUE(std::string_view(e.what()).starts_with(name + ": ")) << e.what();
      }
    }
  }
}

TEST(Archive, OfAnotherKindIsNamed) {
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("d.docx: ", "zip"),
                     document_text("PK\3\4", DocumentKind::docx, "d.docx"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("d.docx: ", "zip"),
                     document_text("words", DocumentKind::docx, "d.docx"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("a.zip: ", "word/document.xml"),
                     document_text(zip_file({{"a.txt", "x"}}), DocumentKind::docx, "a.zip"));
  EXPECT_MPLUS_ERROR(
      ErrorCode::unsupported, ("d.docx: ", "encrypted"),
      document_text(zip_file({{"word/document.xml", "<a/>"}}, 1), DocumentKind::docx, "d.docx"));
}

TEST(Epub, ReadsWhatItsPackageNames) {
  EXPECT_EQ(
      epub({{"META-INF/container.xml", kContainer}, {"b.opf", package("c.html")}, {"c.html", "<p>chapter"}}),
      "chapter");
}

TEST(Epub, WithMissingPartsIsRefused) {
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("b.epub: ", "META-INF/container.xml is missing"),
                     epub({{"a", "b"}}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("b.epub: ", "b.opf is missing"),
                     epub({{"META-INF/container.xml", kContainer}}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("b.epub: ", "c.html is missing"),
                     epub({{"META-INF/container.xml", kContainer}, {"b.opf", package("c.html")}}));
  EXPECT_MPLUS_ERROR(
      ErrorCode::corrupt, ("b.epub: ", "'x'"),
      epub({{"META-INF/container.xml", kContainer}, {"b.opf", "<p><itemref idref='x'/></p>"}}));
}

TEST(Epub, PathsDoNotLeaveIt) {
  for (const char* path : {"../../etc/passwd", "..", "a/../../b", "%2e%2e/x"})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("b.epub: ", "leads out"),
                       epub({{"META-INF/container.xml", kContainer}, {"b.opf", package(path)}}));
  // Names of parts that would be paths elsewhere are only names.
  EXPECT_MPLUS_ERROR(
      ErrorCode::corrupt, ("b.epub: ", "etc/passwd is missing"),
      epub({{"META-INF/container.xml", kContainer}, {"b.opf", package("/etc/passwd")}, {"../x", "y"}}));
}

TEST(Epub, WithEncryptedChaptersIsRefused) {
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("b.epub: ", "DRM", "c.html"),
                     epub({{"META-INF/container.xml", kContainer},
                           {"META-INF/encryption.xml", "<e><CipherReference URI='c.html'/></e>"},
                           {"b.opf", package("c.html")},
                           {"c.html", "\x80\x81"}}));
}

TEST(Docx, OfOddXml) {
  EXPECT_EQ(docx("<d><p><r><t>a</t></r></p><p><r><t><![CDATA[b<c]]></t></r></p></d>"), "a\n\nb<c");
  EXPECT_EQ(docx("<d xmlns:x='y'><x:p><x:r><x:t>a&lt;&#98;</x:t></x:r></x:p></d>"), "a<b");
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("d.docx: ", "word/document.xml", "line 1"), docx("<d><p></d>"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("d.docx: ", "word/document.xml"), docx("words"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("d.docx: ", "word/document.xml"), docx(""));
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("d.docx: empty"), docx("<d><p>outside of runs</p></d>"));
}

TEST(Docx, OfAnotherMainPart) {
  const std::string_view relationships =
      "<r><Relationship Type='x/officeDocument' Target='/word/document2.xml'/></r>";
  const std::vector<ZipPart> parts{{"_rels/.rels", relationships},
                                   {"word/document2.xml", "<d><p><t>words</t></p></d>"}};
  EXPECT_EQ(document_text(zip_file(parts), DocumentKind::docx, "d.docx"), "words");
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("d.docx: ", "word/document2.xml"),
                     document_text(zip_file({parts[0]}), DocumentKind::docx, "d.docx"));
  const std::string_view slides =
      "<r><Relationship Type='x/officeDocument' Target='ppt/presentation.xml'/></r>";
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("d.pptx: ", "neither"),
                     document_text(zip_file({{"_rels/.rels", slides}, {"ppt/presentation.xml", "<p/>"}}),
                                   DocumentKind::docx, "d.pptx"));
}

TEST(Docx, EntitiesCannotBeDeclared) {
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("d.docx: ", "entities"),
                     docx("<!DOCTYPE d [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><d><p><t>&b;</t></p></d>"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("d.docx: ", "entities"),
                     docx("<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><d><p><t>&a;</t></p></d>"));
}

TEST(Docx, ManyAttributesAndDeepElementsAreRefused) {
  std::string attributes = "<d ";
  for (int i = 0; i < 200'000; ++i) attributes += "a" + std::to_string(i) + "='' ";
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("d.docx: "), docx(attributes + "/>"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<d>";
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("d.docx: "), docx(deep));
}

}  // namespace
}  // namespace mplus::documents
