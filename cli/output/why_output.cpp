#include "mplus/cli/output/why_output.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/cli/output/progress_bar.h"

namespace mplus::cli {
namespace {

constexpr int kIndent = 5;
constexpr int kBestVoted = 3;  // shown even if nothing of them was recalled: they may be in short-term memory

// A read works on a copy of the session: a question longer than the window has sources only that copy knew.
bool known(const engine::Record& record, const engine::Span& span) {
  return span.source < record.sources() &&
         span.byte_end <= static_cast<std::int64_t>(record.source(span.source).text.size());
}

std::int64_t line_of(const std::string& text, std::int64_t byte) {
  return 1 + std::count(text.begin(), text.begin() + byte, '\n');
}

std::string place(const engine::Record& record, const engine::Span& span) {
  if (!known(record, span)) return "the question itself";
  const engine::Source& source = record.source(span.source);
  std::string name = one_line(source.name, 60);
  if (source.speaker != engine::Speaker::document)
    name += fmt::format(" ({})", engine::speaker_name(source.speaker));
  if (source.text.empty()) return fmt::format("{}, tokens {} to {}", name, span.token_begin, span.token_end);
  const std::int64_t first = line_of(source.text, span.byte_begin);
  const std::int64_t last = line_of(source.text, std::max(span.byte_begin, span.byte_end - 1));
  return first == last ? fmt::format("{}, line {}", name, first)
                       : fmt::format("{}, lines {} to {}", name, first, last);
}

std::string places(const engine::Record& record, const engine::WhyChunk& chunk) {
  if (chunk.chunk < 0) return "came with the model: no text is known";
  std::string text;
  for (const engine::Span& span : chunk.spans) {
    if (!text.empty()) text += "; ";
    text += place(record, span);
  }
  return text.empty() ? "no text is known" : text;
}

std::string excerpt(const engine::Record& record, const engine::WhyChunk& chunk) {
  std::string text;
  for (const engine::Span& span : chunk.spans) {
    if (!known(record, span)) continue;
    if (!text.empty()) text += ' ';
    text += record.text(span);
  }
  return text;
}

}  // namespace

std::string why_text(const std::vector<engine::WhyChunk>& why, const engine::Record& record,
                     const Terminal& terminal) {
  if (why.empty()) return "  Nothing was recalled.\n";
  std::string text;
  int number = 0;
  int place_by_vote = 0;
  for (const engine::WhyChunk& chunk : why) {
    if (++place_by_vote > kBestVoted && chunk.rows_recalled == 0) continue;
    const std::string numbers =
        fmt::format("vote {:.2f}, weight {:.2f}, {} recalled, {} in short-term memory", chunk.vote,
                    chunk.weight, plural(chunk.rows_recalled, "row"), count_text(chunk.rows_short_term));
    text += fmt::format("  {}. {}\n", ++number, terminal.styled(Style::bold, places(record, chunk)));
    const std::string passage = one_line(excerpt(record, chunk), terminal.width - kIndent);
    if (!passage.empty()) text += fmt::format("{:{}}{}\n", "", kIndent, passage);
    text += fmt::format("{:{}}{}\n", "", kIndent, terminal.styled(Style::dim, numbers));
  }
  return text;
}

Json why_json(const std::vector<engine::WhyChunk>& why, const engine::Record& record) {
  Json list = Json::array();
  for (const engine::WhyChunk& chunk : why) {
    Json json;
    json["chunk"] = chunk.chunk;
    json["vote"] = chunk.vote;
    json["weight"] = chunk.weight;
    json["rows_recalled"] = chunk.rows_recalled;
    json["rows_short_term"] = chunk.rows_short_term;
    json["layer_weights"] = chunk.layer_weights;
    json["spans"] = Json::array();
    for (const engine::Span& span : chunk.spans) {
      const bool here = known(record, span);
      json["spans"].push_back(
          {{"source", here ? Json(record.source(span.source).name) : Json()},
           {"speaker", here ? engine::speaker_name(record.source(span.source).speaker) : "user"},
           {"byte_begin", span.byte_begin},
           {"byte_end", span.byte_end},
           {"token_begin", span.token_begin},
           {"token_end", span.token_end},
           {"text", here ? Json(record.text(span)) : Json()}});
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace mplus::cli
