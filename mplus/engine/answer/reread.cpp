#include "mplus/engine/answer/reread.h"

#include <algorithm>

namespace mplus::engine {

std::string chunk_text(const Record& record, std::int64_t chunk) {
  std::string text;
  for (const Span& span : record.spans(chunk)) {
    if (span.byte_begin == span.byte_end) continue;  // a template's tokens
    if (!text.empty()) text += '\n';
    text += record.text(span);
  }
  return text;
}

Reread reread_chunks(const Engine& engine, const Record& record, std::span<const std::int64_t> best_first,
                     std::int64_t n, std::int64_t budget) {
  Reread again;
  if (!engine.has_tokenizer()) return again;
  std::vector<std::pair<std::int64_t, std::vector<io::TokenId>>> chosen;
  for (const std::int64_t chunk : best_first) {
    if (std::ssize(chosen) == n) break;
    const std::string text = chunk_text(record, chunk);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    std::vector<io::TokenId> ids =
        engine.tokenizer().encode(std::string(kRereadMark) + text + std::string(kRereadEnd));
    if (std::ssize(ids) > budget) continue;
    budget -= std::ssize(ids);
    chosen.emplace_back(chunk, std::move(ids));
  }
  std::sort(chosen.begin(), chosen.end());
  for (const auto& [chunk, ids] : chosen) {
    again.chunks.push_back(chunk);
    again.ids.insert(again.ids.end(), ids.begin(), ids.end());
  }
  return again;
}

}  // namespace mplus::engine
