#include "mplus/documents/docx.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "mplus/documents/archive.h"
#include "mplus/documents/markup.h"
#include "mplus/documents/page_text.h"

namespace mplus::documents {
namespace {

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Deleted and moved text, and what only older programs than ours show in place of something.
bool is_passed_over(std::string_view element) {
  constexpr std::array<std::string_view, 4> kElements{"Fallback", "del", "moveFrom", "rt"};
  return std::find(kElements.begin(), kElements.end(), element) != kElements.end();
}

// One of the parts that hold paragraphs. Text stands in elements `t` of runs `r` of paragraphs `p`;
// properties (`pPr`, `rPr`) come before what they are about.
class Paragraphs : public MarkupEvents {
 public:
  explicit Paragraphs(PageText& page) : page_(page) {}

  void start(std::string_view element, const Attributes& attributes) override {
    if (passed_over_.active()) return passed_over_.start(element);
    if (is_passed_over(element)) return passed_over_.begin(element);
    if (element == "pPr" || in_paragraph_properties_) return paragraph_property(element, attributes);
    if (element == "rPr" || in_run_properties_) return run_property(element, attributes);
    if (element == "r") run_hidden_ = false;
    if (element == "tbl") page_.end_paragraph();
    if (element == "tr") page_.begin_row();
    if (element == "tc") {
      page_.begin_cell();
      ++cells_;
    }
    if (element == "footnote" || element == "endnote") begin_note(element, attributes);
    if (!run_hidden_) content(element, attributes);
  }

  void end(std::string_view element) override {
    if (passed_over_.active()) return passed_over_.end(element);
    if (element == "t") in_text_ = false;
    if (element == "rPr") in_run_properties_ = false;
    if (element == "pPr") end_paragraph_properties();
    if (element == "p") end_paragraph();
    if (element == "tc") --cells_;
    if (element == "tr") page_.end_row();
    if (element == "tbl") page_.end_paragraph();
  }

  void text(std::string_view piece) override {
    if (in_text_ && !run_hidden_ && !passed_over_.active()) page_.add(piece);
  }

 private:
  void content(std::string_view element, const Attributes& attributes) {
    if (element == "t") in_text_ = true;
    if (element == "tab" || element == "ptab") page_.add_as_is("\t");
    if (element == "br" || element == "cr") page_.break_line();
    if (element == "noBreakHyphen") page_.add("-");
    if (element == "footnoteReference") page_.add(mark("", attributes));
    if (element == "endnoteReference") page_.add(mark("e", attributes));
  }

  void paragraph_property(std::string_view element, const Attributes& attributes) {
    const std::string_view value = attributes.find("val").value_or("");
    if (element == "pPr") {
      in_paragraph_properties_ = true;
      list_ = 0;
      level_ = 0;
    }
    if (element == "numId") list_ = number(value);
    if (element == "ilvl") level_ = std::clamp(number(value), 0, 8);
  }

  void run_property(std::string_view element, const Attributes& attributes) {
    if (element == "rPr") in_run_properties_ = true;
    const std::string_view value = attributes.find("val").value_or("1");
    if (element == "vanish") run_hidden_ = value != "0" && value != "false";
  }

  void end_paragraph_properties() {
    in_paragraph_properties_ = false;
    if (list_ > 0) page_.begin_item(std::string(2 * static_cast<std::size_t>(level_), ' ') + "- ");
  }

  void end_paragraph() {
    if (cells_ > 0) {
      page_.add(" ");
    } else if (list_ > 0) {
      page_.end_line();
    } else {
      page_.end_paragraph();
    }
    list_ = 0;
  }

  void begin_note(std::string_view element, const Attributes& attributes) {
    page_.end_paragraph();
    // Those with a type are the lines drawn above the notes.
    if (!attributes.find("type")) page_.add(mark(element == "endnote" ? "e" : "", attributes) + " ");
  }

  static std::string mark(std::string_view letter, const Attributes& attributes) {
    return fmt::format("[{}{}]", letter, attributes.find("id").value_or(""));
  }

  PageText& page_;
  PassedOver passed_over_;
  bool in_paragraph_properties_ = false;
  bool in_run_properties_ = false;
  bool in_text_ = false;
  bool run_hidden_ = false;
  int list_ = 0;  // number of the paragraph's list; 0: none
  int level_ = 0;
  int cells_ = 0;  // around this place
};

// _rels/.rels: which part is the document. Nearly always word/document.xml, but some programs count on.
class Relationships : public MarkupEvents {
 public:
  void start(std::string_view element, const Attributes& attributes) override {
    const std::string_view target = attributes.find("Target").value_or("");
    if (element == "Relationship" && attributes.find("Type").value_or("").ends_with("/officeDocument"))
      document = target.substr(target.starts_with('/'));
  }

  std::string document = "word/document.xml";
};

std::string main_part(const Reading& reading, Archive& archive) {
  const std::string part = "_rels/.rels";
  Relationships relationships;
  if (archive.has(part)) read_xml(reading, part, archive.read(part), relationships);
  return relationships.document;
}

}  // namespace

std::string docx_text(const Reading& reading, std::string_view bytes) {
  Archive archive(reading, bytes);
  const std::string document = main_part(reading, archive);
  const std::string folder = document.substr(0, document.rfind('/') + 1);
  if (folder != "word/" || !archive.has(document))  // tables and slides are packed alike
    reading.fail(ErrorCode::unsupported, "a zip archive that is neither .docx nor EPUB: it has no {}",
                 folder == "word/" ? document : "text document");
  PageText page(reading);
  for (const std::string& part : {document, folder + "footnotes.xml", folder + "endnotes.xml"}) {
    if (!archive.has(part)) continue;
    Paragraphs paragraphs(page);
    read_xml(reading, part, archive.read(part), paragraphs);
    page.end_paragraph();
  }
  return page.take();
}

}  // namespace mplus::documents
