#include "mplus/documents/epub.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>
#include <vector>

#include "mplus/core/text.h"
#include "mplus/documents/archive.h"
#include "mplus/documents/html.h"
#include "mplus/documents/markup.h"

namespace mplus::documents {
namespace {

// META-INF/container.xml: where the package is described.
class Container : public MarkupEvents {
 public:
  void start(std::string_view element, const Attributes& attributes) override {
    if (element == "rootfile" && package.empty()) package = attributes.find("full-path").value_or("");
  }

  std::string package;
};

// META-INF/encryption.xml: what cannot be read. Many books have one for their fonts alone.
class Encryption : public MarkupEvents {
 public:
  void start(std::string_view element, const Attributes& attributes) override {
    if (element == "CipherReference") parts.emplace(attributes.find("URI").value_or(""));
  }

  std::set<std::string> parts;
};

// The package: title, what the files are, and the spine, which is their order.
class Package : public MarkupEvents {
 public:
  struct Item {
    std::string href;
    std::string media_type;
  };

  void start(std::string_view element, const Attributes& attributes) override {
    const auto value = [&](std::string_view name) { return std::string(attributes.find(name).value_or("")); };
    in_title_ = element == "title" && title.empty();
    if (element == "item") items[value("id")] = {value("href"), value("media-type")};
    if (element == "itemref") spine.push_back(value("idref"));
  }
  void end(std::string_view) override { in_title_ = false; }
  void text(std::string_view piece) override {
    if (in_title_) title += piece;
  }

  std::string title;
  std::map<std::string, Item> items;
  std::vector<std::string> spine;

 private:
  bool in_title_ = false;
};

std::string without_percents(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

class Book {
 public:
  Book(const Reading& reading, std::string_view bytes) : reading_(reading), archive_(reading, bytes) {}

  std::string text() {
    const Container container = read<Container>("META-INF/container.xml");
    const Package package = read<Package>(container.package);
    const std::string folder = container.package.substr(0, container.package.rfind('/') + 1);
    if (archive_.has(kEncryption)) encryption_ = read<Encryption>(kEncryption);
    PageText page(reading_);
    page.add(package.title);
    page.end_paragraph();
    for (const std::string& id : package.spine) add_chapter(package, id, folder, page);
    return page.take();
  }

 private:
  static constexpr const char* kEncryption = "META-INF/encryption.xml";

  template <class Events>
  Events read(const std::string& part) {
    Events events;
    read_xml(reading_, part, archive_.read(part), events);
    return events;
  }

  void add_chapter(const Package& package, const std::string& id, const std::string& folder, PageText& page) {
    const auto item = package.items.find(id);
    if (item == package.items.end())
      reading_.fail(ErrorCode::corrupt, "its spine names '{}', which its manifest does not have", id);
    if (!contains_ignoring_case(item->second.media_type, "html")) return;  // a picture
    const std::string part = resolve(folder, item->second.href);
    if (encryption_.parts.contains(part))
      reading_.fail(ErrorCode::unsupported, "protected against copying (DRM): {} is encrypted", part);
    add_html(reading_, archive_.read(part), "", HtmlTitle::left_out, page);
  }

  // The part a link in the package leads to. One that leads out of the archive is no part of it.
  std::string resolve(const std::string& folder, const std::string& href) const {
    const std::string path = folder + without_percents(href.substr(0, href.find_first_of("#?")));
    std::vector<std::string_view> steps;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string_view step = std::string_view(path).substr(begin, end - begin);
      begin = end + 1;
      if (step.empty() || step == ".") continue;
      if (step != "..") {
        steps.push_back(step);
      } else if (!steps.empty()) {
        steps.pop_back();
      } else {
        reading_.fail(ErrorCode::corrupt, "a chapter's path leads out of it: {}", href);
      }
    }
    return fmt::format("{}", fmt::join(steps, "/"));
  }

  const Reading& reading_;
  Archive archive_;
  Encryption encryption_;
};

}  // namespace

std::string epub_text(const Reading& reading, std::string_view bytes) { return Book(reading, bytes).text(); }

}  // namespace mplus::documents
