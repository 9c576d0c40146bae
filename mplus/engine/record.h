// What was said and written, as text: the sources, and for every update the pieces of sources it was cut
// from. This is how a recalled row leads back to a place in a document. Copies share the texts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mplus::engine {

enum class Speaker : std::uint8_t { document, system, user, assistant };
std::string_view speaker_name(Speaker speaker);

struct Source {
  std::string name;
  Speaker speaker = Speaker::document;
  std::string text;
};

// Part of a source: bytes and tokens [begin, end).
struct Span {
  std::int64_t source = 0;
  std::int64_t byte_begin = 0, byte_end = 0;
  std::int64_t token_begin = 0, token_end = 0;
};

class Record {
 public:
  std::int64_t add_source(Source source);
  std::int64_t add_source(std::shared_ptr<const Source> source);
  void replace_source(std::int64_t index, Source source);
  void add_update(std::vector<Span> spans) { updates_.push_back(std::move(spans)); }
  void set_update(std::int64_t update, std::vector<Span> spans) {
    updates_[static_cast<std::size_t>(update)] = std::move(spans);
  }

  const Source& source(std::int64_t index) const { return *sources_[static_cast<std::size_t>(index)]; }
  std::int64_t sources() const { return static_cast<std::int64_t>(sources_.size()); }
  std::int64_t updates() const { return static_cast<std::int64_t>(updates_.size()); }
  // Empty for chunks that no text stands behind: what a checkpoint brought.
  const std::vector<Span>& spans(std::int64_t update) const;
  std::string text(const Span& span) const;

 private:
  std::vector<std::shared_ptr<const Source>> sources_;
  std::vector<std::vector<Span>> updates_;
};

}  // namespace mplus::engine
