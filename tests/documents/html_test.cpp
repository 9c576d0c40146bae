#include <gtest/gtest.h>

#include "mplus/documents/document.h"
#include "tests/io/expect_error.h"

namespace mplus::documents {
namespace {

std::string html(std::string_view bytes, std::string_view media_type = {},
                 const DocumentLimits& limits = {}) {
  return document_text(bytes, DocumentKind::html, "a.html", limits, media_type);
}

std::string repeated(std::string_view piece, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += piece;
  return all;
}

TEST(Html, BlocksAreLines) {
  EXPECT_EQ(html("<html><head><title>T &amp;\n t</title></head><body><h1>H</h1><p>one\n  <b>two</b>, "
                 "th<i>ree</i></p>"
                 "<div>four</div><div>five<br>six<br><br>seven</div>eight"),
            "T & t\n\nH\n\none two, three\n\nfour\nfive\nsix\n\nseven\neight");
}

TEST(Html, ListsHaveMarkers) {
  EXPECT_EQ(html("<p>x<ul><li>a<ul><li>b</ul><li><p>c</p></ul><ol start=3><li>d<li>e</ol>"),
            "x\n\n- a\n  - b\n- c\n\n3. d\n4. e");
  EXPECT_EQ(html("<li>alone"), "- alone");
}

TEST(Html, TablesKeepTheirColumns) {
  EXPECT_EQ(html("<table><tr><th><th>A<th>B</tr><tr><td><p>x</p><td><td><p>y</p></tr></table>z"),
            "| A | B\nx | | y\n\nz");
  // A table that only lays a page out, as pages of old do.
  EXPECT_EQ(html("<table><tr><td>menu<td><h1>H</h1><p>p</p><table><tr><td>a<td>b</table><td>right</table>"),
            "menu | H\n\np\n\na | b\n\nright");
}

TEST(Html, PreformattedTextKeepsItsSpaces) {
  EXPECT_EQ(html("<p>a</p><pre>\nif x:\n    y\n\n\nz</pre>b  c"), "a\n\nif x:\n    y\n\nz\n\nb c");
}

TEST(Html, WhatNobodySeesIsLeftOut) {
  EXPECT_EQ(
      html("<style>s{}</style><script>if (a < b) x('</p>')</script><nav>n<nav>n</nav>n</nav>seen<!-- c -->"
           "<div hidden>h<div>h</div>h</div><div role=navigation>h</div><p style='x:y; Display : "
           "None'>h</p><svg><title>h</title></svg>"
           "<select><option>h</select><button>h</button><template>h</template><noscript>h</noscript> end"),
      "seen\n\nend");
}

TEST(Html, EntitiesAndOddSpaces) {
  EXPECT_EQ(html("a&nbsp;&nbsp;b&eacute; &#8212; &#x1F600; &lt;p&gt; &unknown; so\u00adft &#0; <q>q</q>"),
            "a b\u00e9 \u2014 \U0001F600 <p> &unknown; soft \"q\"");
}

TEST(Html, CharacterSets) {
  EXPECT_EQ(html("caf\u00e9 \u65e5\u672c"), "caf\u00e9 \u65e5\u672c");
  EXPECT_EQ(html("caf\xe9 \x93x\x94"), "caf\u00e9 \u201cx\u201d");  // windows-1252, as browsers take it
  EXPECT_EQ(html("<meta charset=\"ISO-8859-2\">\xb1"), "\u0105");
  EXPECT_EQ(html("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>\x93\xfa\x96\x7b"),
            "\u65e5\u672c");
  EXPECT_EQ(html("<?xml version='1.0' encoding='koi8-r'?><html>\xc1"), "\u0430");
  EXPECT_EQ(html("\xc1", "text/html; charset=\"KOI8-R\""), "\u0430");
  EXPECT_EQ(html("<meta charset=iso-2022-jp>\x1b$BF|K\\\x1b(B"), "\u65e5\u672c");
  EXPECT_EQ(html("<meta charset=utf-8>a\xffz caf\u00e9"), "a\ufffdz caf\u00e9");
  EXPECT_EQ(html("\xef\xbb\xbf"
                 "a"),
            "a");
  EXPECT_EQ(html(std::string_view("\xff\xfe<\0p\0>\0\xe9\0", 10)), "\u00e9");
  EXPECT_EQ(html(std::string_view("\xfe\xff\0a\0b", 6)), "ab");
  for (const std::string charset : {"x-unknown", "UTF-7", "../../x"})
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("a.html: ", "UTF-8"),
                       html("<meta charset=" + charset + ">\xe9"));
}

TEST(Html, ZeroBytesAndControlCharacters) {
  EXPECT_EQ(html(std::string_view("<p>a\0b\x01\x7f"
                                  "c</p>d",
                                  14)),
            "a bc\n\nd");
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("a.html: empty"), html("<p><script>x</script>&nbsp;</p>"));
}

TEST(Html, WrittenToDoHarmCostsNoMoreThanItsSize) {
  EXPECT_EQ(html(repeated("<div>", 100'000) + "deep" + repeated("</div>", 100'000) + " end"), "deep\nend");
  EXPECT_EQ(html(repeated("<ul><li>", 20'000) + "deep"), std::string(16, ' ') + "- deep");
  EXPECT_EQ(html(repeated("<table><tr><td>", 20'000) + "deep"), "deep");
  EXPECT_EQ(html(repeated("<nav>", 50'000) + "n" + repeated("</nav>", 50'000) + "seen"), "seen");
  std::string attributes = "<a ";
  for (int i = 0; i < 200'000; ++i) attributes += "a" + std::to_string(i) + " ";
  EXPECT_EQ(html(attributes + ">seen</a>"), "seen");
  EXPECT_EQ(html("<a " + repeated("a ", 200'000) + ">seen</a>"), "seen");
  EXPECT_EQ(html("x" + repeated("<p", 100'000)), "x");
  EXPECT_EQ(html("<!DOCTYPE x [<!ENTITY a \"" + std::string(1000, 'b') + "\">]><p>&a;&a;"), "]>\n\n&a;&a;");
}

TEST(Html, StopsAtItsLimits) {
  const std::string page = repeated("<p>words", 10'000);
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("a.html: ", "text"), html(page, "", {.text_bytes = 1000}));
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("a.html: ", "markup"),
                     html(page, "", {.unpacked_bytes = 1000}));
  // Work that grows with the square of the page: the clock is looked at.
  const std::string slow = repeated("<div>", 100'000) + repeated("</b>", 4'000'000);
  EXPECT_MPLUS_ERROR(ErrorCode::out_of_capacity, ("a.html: ", "200 ms"),
                     html(slow, "", {.time = std::chrono::milliseconds(200)}));
}

}  // namespace
}  // namespace mplus::documents
