#include "mplus/engine/record.h"

#include "mplus/core/error.h"

namespace mplus::engine {

std::string_view speaker_name(Speaker speaker) {
  switch (speaker) {
    case Speaker::document:
      return "document";
    case Speaker::system:
      return "system";
    case Speaker::user:
      return "user";
    case Speaker::assistant:
      return "assistant";
  }
  return "?";
}

std::int64_t Record::add_source(Source source) {
  return add_source(std::make_shared<const Source>(std::move(source)));
}

std::int64_t Record::add_source(std::shared_ptr<const Source> source) {
  sources_.push_back(std::move(source));
  return sources() - 1;
}

void Record::replace_source(std::int64_t index, Source source) {
  sources_[static_cast<std::size_t>(index)] = std::make_shared<const Source>(std::move(source));
}

const std::vector<Span>& Record::spans(std::int64_t update) const {
  static const std::vector<Span> kNone;
  return update >= 0 && update < updates() ? updates_[static_cast<std::size_t>(update)] : kNone;
}

std::string Record::text(const Span& span) const {
  const std::string& text = source(span.source).text;
  MPLUS_CHECK(0 <= span.byte_begin && span.byte_begin <= span.byte_end &&
                  span.byte_end <= static_cast<std::int64_t>(text.size()),
              "bytes {} to {} of {}", span.byte_begin, span.byte_end, text.size());
  return text.substr(static_cast<std::size_t>(span.byte_begin),
                     static_cast<std::size_t>(span.byte_end - span.byte_begin));
}

}  // namespace mplus::engine
