#include "mplus/documents/html.h"

#include <charconv>
#include <unordered_map>
#include <vector>

#include "mplus/core/text.h"
#include "mplus/documents/charset.h"
#include "mplus/documents/markup.h"

namespace mplus::documents {
namespace {

enum class Role { line, paragraph, hidden, breaks, list, item, row, cell, preformatted, quotation };

const std::unordered_map<std::string_view, Role>& roles() {
  static const std::unordered_map<std::string_view, Role> table = [] {
    std::unordered_map<std::string_view, Role> made;
    const auto add = [&](Role role, std::initializer_list<std::string_view> elements) {
      for (const std::string_view element : elements) made.emplace(element, role);
    };
    add(Role::hidden, {"audio", "button", "canvas", "datalist", "iframe", "nav", "noframes", "noscript",
                       "object", "script", "select", "style", "svg", "template", "textarea", "video"});
    add(Role::line, {"caption", "dd", "div", "dt", "footer", "header", "legend", "option", "summary"});
    add(Role::paragraph,
        {"address",  "article",    "aside",  "blockquote", "body", "center",  "details", "dl",
         "fieldset", "figcaption", "figure", "form",       "h1",   "h2",      "h3",      "h4",
         "h5",       "h6",         "hr",     "main",       "p",    "section", "table",   "title"});
    add(Role::list, {"dir", "menu", "ol", "ul"});
    add(Role::breaks, {"br"});
    add(Role::item, {"li"});
    add(Role::row, {"tr"});
    add(Role::cell, {"td", "th"});
    add(Role::preformatted, {"listing", "pre", "xmp"});
    add(Role::quotation, {"q"});
    return made;
  }();
  return table;
}

bool is_hidden(const Attributes& attributes) {
  if (attributes.find("hidden") || attributes.find("role") == "navigation") return true;
  std::string style;
  for (const char c : attributes.find("style").value_or(""))
    if (c != ' ') style += lower(c);
  return style.find("display:none") != style.npos || style.find("visibility:hidden") != style.npos;
}

class HtmlPage : public MarkupEvents {
 public:
  HtmlPage(PageText& page, HtmlTitle title) : page_(page), title_(title) {}

  void start(std::string_view element, const Attributes& attributes) override {
    if (passed_over_.active()) return passed_over_.start(element);
    const auto found = roles().find(element);
    const bool known = found != roles().end();
    if ((known && found->second == Role::hidden) || is_hidden(attributes) ||
        (element == "title" && title_ == HtmlTitle::left_out))
      return passed_over_.begin(element);
    if (known) begin(found->second, element, attributes);
  }

  void end(std::string_view element) override {
    if (passed_over_.active()) return passed_over_.end(element);
    if (const auto found = roles().find(element); found != roles().end()) end(found->second);
  }

  void text(std::string_view piece) override {
    if (passed_over_.active()) return;
    if (preformatted_ > 0) {
      page_.add_as_is(piece);
    } else {
      page_.add(piece);
    }
  }

 private:
  struct List {
    bool numbered = false;
    int next = 1;
  };

  void begin(Role role, std::string_view element, const Attributes& attributes) {
    switch (role) {
      case Role::line:
        return page_.end_line();
      case Role::paragraph:
        return page_.end_paragraph();
      case Role::breaks:
        return page_.break_line();
      case Role::list:
        return begin_list(element == "ol", attributes);
      case Role::item:
        return page_.begin_item(marker());
      case Role::row:
        return page_.begin_row();
      case Role::cell:
        return page_.begin_cell();
      case Role::preformatted:
        ++preformatted_;
        return page_.end_paragraph();
      case Role::quotation:
        return page_.add_as_is("\"");
      case Role::hidden:
        return;
    }
  }

  void end(Role role) {
    switch (role) {
      case Role::item:
      case Role::line:
        return page_.end_line();
      case Role::paragraph:
        return page_.end_paragraph();
      case Role::list:
        return end_list();
      case Role::row:
        return page_.end_row();
      case Role::preformatted:
        --preformatted_;
        return page_.end_paragraph();
      case Role::quotation:
        return page_.add_as_is("\"");
      case Role::breaks:
      case Role::cell:
      case Role::hidden:
        return;
    }
  }

  void begin_list(bool numbered, const Attributes& attributes) {
    List list{numbered};
    const std::string_view first = attributes.find("start").value_or("");
    std::from_chars(first.data(), first.data() + first.size(), list.next);
    lists_.empty() ? page_.end_paragraph() : page_.end_line();
    lists_.push_back(list);
  }

  void end_list() {
    if (!lists_.empty()) lists_.pop_back();
    lists_.empty() ? page_.end_paragraph() : page_.end_line();
  }

  std::string marker() {
    constexpr std::size_t kDeepest = 8;  // else a page of nested lists would be mostly spaces
    if (lists_.empty()) return "- ";
    const std::string indent(2 * std::min(lists_.size() - 1, kDeepest), ' ');
    List& list = lists_.back();
    return list.numbered ? fmt::format("{}{}. ", indent, list.next++) : indent + "- ";
  }

  PageText& page_;
  const HtmlTitle title_;
  PassedOver passed_over_;
  std::vector<List> lists_;
  int preformatted_ = 0;
};

}  // namespace

void add_html(const Reading& reading, std::string_view bytes, std::string_view media_type, HtmlTitle title,
              PageText& page) {
  HtmlPage events(page, title);
  read_html(reading, html_as_utf8(reading, bytes, media_type), events);
  page.end_paragraph();
}

}  // namespace mplus::documents
