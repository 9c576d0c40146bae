#include "mplus/cli/output/why_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

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

std::string places(const engine::Record& record, const std::vector<engine::Span>& spans) {
  std::string text;
  for (const engine::Span& span : spans) {
    if (!text.empty()) text += "; ";
    text += place(record, span);
  }
  return text.empty() ? "no text is known" : text;
}

std::string places(const engine::Record& record, std::int64_t chunk, const std::vector<engine::Span>& spans) {
  return chunk < 0 ? "came with the model: no text is known" : places(record, spans);
}

std::string excerpt(const engine::Record& record, const std::vector<engine::Span>& spans) {
  std::string text;
  for (const engine::Span& span : spans) {
    if (!known(record, span)) continue;
    if (!text.empty()) text += ' ';
    text += record.text(span);
  }
  return text;
}

// Tokens of a chunk a layer, on average: rows are counted over all layers.
double a_layer(const engine::WhyChunk& chunk, std::int64_t rows) {
  const auto layers = static_cast<double>(std::max<std::size_t>(1, chunk.layer_weights.size()));
  return static_cast<double>(rows) / layers;
}

std::string numbers_of(const engine::WhyChunk& chunk) {
  std::string text = fmt::format("vote {:.2f}", chunk.vote);
  if (chunk.words != 0) text += fmt::format(", words {:.2f}", chunk.words);
  if (!chunk.layer_votes.empty())
    text += fmt::format(", first in {} of {}", chunk.layers_first,
                        plural(std::ssize(chunk.layer_votes), "layer"));
  text += fmt::format(", weight {:.2f}; {:.0f} tokens recalled, {:.0f} in short-term memory", chunk.weight,
                      a_layer(chunk, chunk.rows_recalled), a_layer(chunk, chunk.rows_short_term));
  if (chunk.passed) text += "; read first, and gave no answer";
  return chunk.reread ? text + "; read again" : text;
}

std::string refuted_text(const engine::Refuted& refuted) {
  return fmt::format("said \"{}\", which is of others: {} is not spoken of here", refuted.said,
                     refuted.names);
}

}  // namespace

std::string why_text(const engine::Answer& answer, const engine::Record& record, const Terminal& terminal) {
  if (answer.by_base) return "  The base model answered by itself; nothing was recalled for it.\n";
  std::string text;
  int number = 0;
  const auto passage = [&](const std::string& place, const std::vector<engine::Span>& spans) {
    text += fmt::format("  {}. {}\n", ++number, terminal.styled(Style::bold, place));
    const std::string line = one_line(excerpt(record, spans), terminal.width - kIndent);
    if (!line.empty()) text += fmt::format("{:{}}{}\n", "", kIndent, line);
  };
  if (!answer.waiting.empty()) {
    passage(places(record, answer.waiting), answer.waiting);
    text += fmt::format("{:{}}{}\n", "", kIndent,
                        terminal.styled(Style::dim, "read as text: it waits to be written into memory"));
  } else if (answer.why.empty()) {
    return "  Nothing was recalled.\n";
  }
  int place_by_vote = 0;
  for (const engine::WhyChunk& chunk : answer.why) {
    if (++place_by_vote > kBestVoted && chunk.rows_recalled == 0 && !chunk.passed) continue;
    passage(places(record, chunk.chunk, chunk.spans), chunk.spans);
    text += fmt::format("{:{}}{}\n", "", kIndent, terminal.styled(Style::dim, numbers_of(chunk)));
    for (const engine::Refuted& refuted : answer.refuted)
      if (refuted.chunk == chunk.chunk)
        text += fmt::format("{:{}}{}\n", "", kIndent, terminal.styled(Style::dim, refuted_text(refuted)));
  }
  for (const engine::Refuted& refuted : answer.refuted)
    if (!refuted.chunk) text += fmt::format("  Of all that was read: {}\n", refuted_text(refuted));
  if (!answer.asked_on.empty()) text += fmt::format("  One passage led on to another: {}\n", answer.asked_on);
  return text;
}

std::string heat_text(const engine::Answer& answer) {
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};  // up to 0, 1, 2, 3 standard deviations, more
  std::string text;
  int place_by_vote = 0, number = answer.waiting.empty() ? 0 : 1;
  for (const engine::WhyChunk& chunk : answer.why) {
    if (++place_by_vote > kBestVoted && chunk.rows_recalled == 0 && !chunk.passed) continue;
    text += fmt::format("  {:>2}. |", ++number);
    for (const double z : chunk.layer_votes)
      text += std::isnan(z) ? "·" : kShades[static_cast<int>(std::clamp(std::ceil(z), 0.0, 4.0))];
    text += "|\n";
  }
  if (text.empty()) return text;
  return text +
         "      layers, lowest to highest; darker: scores better than other chunks; · has none of it\n";
}

std::string reread_text(const std::vector<std::int64_t>& chunks, const engine::Record& record,
                        const Terminal& terminal) {
  std::string text;
  for (const std::int64_t chunk : chunks)
    text += terminal.styled(Style::dim,
                            fmt::format("  read again: {}", places(record, chunk, record.spans(chunk)))) +
            "\n";
  return text;
}

Json spans_json(const std::vector<engine::Span>& spans, const engine::Record& record) {
  Json list = Json::array();
  for (const engine::Span& span : spans) {
    const bool here = known(record, span);
    list.push_back({{"source", here ? Json(record.source(span.source).name) : Json()},
                    {"speaker", here ? engine::speaker_name(record.source(span.source).speaker) : "user"},
                    {"byte_begin", span.byte_begin},
                    {"byte_end", span.byte_end},
                    {"token_begin", span.token_begin},
                    {"token_end", span.token_end},
                    {"text", here ? Json(record.text(span)) : Json()}});
  }
  return list;
}

Json reread_json(const std::vector<std::int64_t>& chunks, const engine::Record& record) {
  Json list = Json::array();
  for (const std::int64_t chunk : chunks)
    list.push_back({{"chunk", chunk}, {"spans", spans_json(record.spans(chunk), record)}});
  return list;
}

Json why_json(const std::vector<engine::WhyChunk>& why, const engine::Record& record) {
  Json list = Json::array();
  for (const engine::WhyChunk& chunk : why) {
    Json json;
    json["chunk"] = chunk.chunk;
    json["vote"] = chunk.vote;
    json["words"] = chunk.words;
    json["total"] = chunk.total;
    json["weight"] = chunk.weight;
    json["layers_first"] = chunk.layers_first;
    json["rows_recalled"] = chunk.rows_recalled;
    json["rows_short_term"] = chunk.rows_short_term;
    json["reread"] = chunk.reread;
    json["passed"] = chunk.passed;
    json["layer_weights"] = chunk.layer_weights;
    json["layer_votes"] = Json::array();
    for (const double z : chunk.layer_votes) json["layer_votes"].push_back(std::isnan(z) ? Json() : Json(z));
    json["spans"] = spans_json(chunk.spans, record);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace mplus::cli
