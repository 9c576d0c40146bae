// HTML and XML as a stream of events, by libxml2's parsers. No tree is built, so depth costs nothing but the
// names of the open elements; nothing is loaded from elsewhere; entities cannot be declared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mplus/documents/reading.h"

namespace mplus::documents {

class Attributes {
 public:
  explicit Attributes(const unsigned char** pairs) : pairs_(pairs) {}
  // By its name without a prefix. An attribute without a value, as HTML has them, is an empty text.
  std::optional<std::string_view> find(std::string_view name) const;

 private:
  const unsigned char** pairs_;  // name, value, …, null; or null
};

// Names of elements: of HTML in small letters, of XML without a prefix. Every start has its end, unless an
// exception ends the reading.
class MarkupEvents {
 public:
  virtual ~MarkupEvents() = default;
  virtual void start(std::string_view element, const Attributes& attributes) = 0;
  virtual void end(std::string_view) {}
  virtual void text(std::string_view) {}
};

// Whatever the mistakes in it. Scripts and styles are no text.
void read_html(const Reading& reading, std::string_view utf8, MarkupEvents& events);

// `part` is what the XML is called in messages. Throws corrupt where it is not well-formed.
void read_xml(const Reading& reading, std::string_view part, std::string_view bytes, MarkupEvents& events);

// An element that is passed over with all that is in it.
class PassedOver {
 public:
  bool active() const { return depth_ > 0; }
  void begin(std::string_view element) {
    element_ = element;
    depth_ = 1;
  }
  void start(std::string_view element) { depth_ += element == element_; }
  void end(std::string_view element) { depth_ -= element == element_; }

 private:
  std::string element_;
  int depth_ = 0;  // of elements with this name
};

}  // namespace mplus::documents
