#include "mplus/documents/markup.h"

#include <libxml/HTMLparser.h>
#include <libxml/parser.h>

#include <climits>
#include <exception>
#include <memory>

#include "mplus/core/text.h"

namespace mplus::documents {
namespace {

// libxml2 compares each attribute of a tag with all others of that tag. Names come from a dictionary, so its
// size bounds how many differ; one that repeats is an error, which is when the time is looked at.
constexpr std::size_t kMostNameBytes = 64 << 10;

std::string_view view(const xmlChar* text) { return reinterpret_cast<const char*>(text); }

std::string_view local_name(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon == name.npos ? name : name.substr(colon + 1);
}

struct FreeContext {
  void operator()(xmlParserCtxt* context) const { xmlFreeParserCtxt(context); }
};
using Context = std::unique_ptr<xmlParserCtxt, FreeContext>;

// Without a tree there is still one now and then, to keep declarations in.
struct FreeTree {
  void operator()(xmlDoc* tree) const { xmlFreeDoc(tree); }
};
using Tree = std::unique_ptr<xmlDoc, FreeTree>;

// From libxml2's calls to events. No exception may pass through its frames: the first one is kept, stops the
// parser, and is thrown when that has returned.
class Adapter {
 public:
  Adapter(const Reading& reading, MarkupEvents& events, bool xml)
      : reading_(reading), events_(events), xml_(xml) {}

  void connect(Context& context) {
    context_ = context.get();
    xmlSAXHandler& calls = *context_->sax;
    calls = {};
    calls.initialized = 1;  // SAX 1: an attribute that repeats is an error as soon as it is read
    calls.startElement = on_start;
    calls.endElement = on_end;
    calls.characters = on_text;
    calls.ignorableWhitespace = on_text;
    calls.getEntity = [](void*, const xmlChar* name) { return xmlGetPredefinedEntity(name); };
    calls.error = on_error;
    if (xml_) {
      calls.cdataBlock = on_text;  // of HTML that is scripts and styles
      calls.entityDecl = on_entity_declaration;
    }
    context_->userData = this;
    xmlDictSetLimit(context_->dict, kMostNameBytes);
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  const std::string& problem() const { return problem_; }

 private:
  template <class F>
  void guard(F&& call) {
    if (failure_) return;
    try {
      reading_.check_time();
      call();
    } catch (...) {
      failure_ = std::current_exception();
      xmlStopParser(context_);
    }
  }
  static Adapter& self(void* data) { return *static_cast<Adapter*>(data); }
  std::string_view name(const xmlChar* text) const { return xml_ ? local_name(view(text)) : view(text); }

  static void on_start(void* data, const xmlChar* element, const xmlChar** attributes) {
    self(data).guard([&] { self(data).events_.start(self(data).name(element), Attributes(attributes)); });
  }
  static void on_end(void* data, const xmlChar* element) {
    self(data).guard([&] { self(data).events_.end(self(data).name(element)); });
  }
  static void on_text(void* data, const xmlChar* text, int length) {
    self(data).guard(
        [&] { self(data).events_.text(view(text).substr(0, static_cast<std::size_t>(length))); });
  }
  static void on_entity_declaration(void* data, const xmlChar*, int, const xmlChar*, const xmlChar*,
                                    xmlChar*) {
    self(data).guard([&] {
      self(data).reading_.fail(ErrorCode::unsupported,
                               "its XML declares entities, which no such document needs");
    });
  }
  static void on_error(void* data, const char*, ...) {
    self(data).guard([&] {
      const xmlError& error = self(data).context_->lastError;
      if (error.level == XML_ERR_FATAL && error.message && self(data).problem_.empty())
        self(data).problem_ = fmt::format("line {}: {}", error.line, trim(error.message));
    });
  }

  const Reading& reading_;
  MarkupEvents& events_;
  const bool xml_;
  xmlParserCtxt* context_ = nullptr;
  std::exception_ptr failure_;
  std::string problem_;
};

// The library's tables are made once, before threads share them.
void begin_library() { [[maybe_unused]] static const bool begun = (xmlInitParser(), true); }

int checked_size(const Reading& reading, std::string_view bytes) {
  if (bytes.size() > reading.limits().unpacked_bytes || bytes.size() > INT_MAX)
    reading.fail(ErrorCode::out_of_capacity, "{} bytes of markup, at most {}", bytes.size(),
                 reading.limits().unpacked_bytes);
  return static_cast<int>(bytes.size());
}

}  // namespace

std::optional<std::string_view> Attributes::find(std::string_view name) const {
  for (const unsigned char** at = pairs_; at && at[0]; at += 2)
    if (local_name(view(at[0])) == name) return at[1] ? view(at[1]) : std::string_view();
  return {};
}

void read_html(const Reading& reading, std::string_view utf8, MarkupEvents& events) {
  begin_library();
  Adapter adapter(reading, events, false);
  Context context(htmlNewParserCtxt());
  if (!context) throw std::bad_alloc();
  adapter.connect(context);
  const Tree none(htmlCtxtReadMemory(
      context.get(), utf8.data(), checked_size(reading, utf8), nullptr, "UTF-8",
      HTML_PARSE_RECOVER | HTML_PARSE_NONET | HTML_PARSE_IGNORE_ENC | HTML_PARSE_NOWARNING));
  adapter.rethrow();
}

void read_xml(const Reading& reading, std::string_view part, std::string_view bytes, MarkupEvents& events) {
  begin_library();
  Adapter adapter(reading, events, true);
  Context context(xmlNewParserCtxt());
  if (!context) throw std::bad_alloc();
  adapter.connect(context);
  const Tree none(xmlCtxtReadMemory(context.get(), bytes.data(), checked_size(reading, bytes), nullptr,
                                    nullptr, XML_PARSE_NONET | XML_PARSE_NOWARNING));
  adapter.rethrow();
  if (!context->wellFormed)
    reading.fail(ErrorCode::corrupt, "{} in it is damaged: {}", part,
                 adapter.problem().empty() ? "no XML" : adapter.problem());
}

}  // namespace mplus::documents
