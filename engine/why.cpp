#include "mplus/engine/why.h"

#include <algorithm>
#include <map>

namespace mplus::engine {
namespace {

using Chunks = std::map<std::int64_t, WhyChunk>;

void add_recalled(Chunks& chunks, const std::vector<std::vector<memory::RecalledRow>>& recalled,
                  std::int64_t K) {
  for (std::size_t l = 0; l < recalled.size(); ++l) {
    double total = 0;
    for (const auto& row : recalled[l]) total += static_cast<double>(row.score);
    for (const auto& row : recalled[l]) {
      WhyChunk& chunk = chunks[memory::chunk_of(row.birth, K)];
      chunk.layer_weights.resize(recalled.size(), 0.0);
      const double even = 1.0 / static_cast<double>(recalled[l].size());  // where scores are not known
      chunk.layer_weights[l] += total > 0 ? static_cast<double>(row.score) / total : even;
      ++chunk.rows_recalled;
    }
  }
}

void add_best_voted(Chunks& chunks, const memory::Votes& votes) {
  std::size_t added = 0;
  for (std::int64_t chunk : votes.order()) {
    if (added++ == kWhyChunks) break;
    chunks.try_emplace(chunk);
  }
}

}  // namespace

std::vector<WhyChunk> explain(const memory::Memory& memory, const Record& record,
                              const std::vector<std::vector<memory::RecalledRow>>& recalled,
                              const memory::Votes& votes) {
  const memory::Layout& layout = memory.layout();
  if (layout.K == 0) return {};
  Chunks chunks;
  add_recalled(chunks, recalled, layout.K);
  add_best_voted(chunks, votes);
  const auto with_rows = static_cast<double>(std::max<std::ptrdiff_t>(
      1, std::count_if(recalled.begin(), recalled.end(), [](const auto& r) { return !r.empty(); })));
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView slots = memory.short_term(l);
    for (std::int64_t r = 0; r < slots.n; ++r)
      if (const auto at = chunks.find(memory::chunk_of(slots.birth[r], layout.K)); at != chunks.end())
        ++at->second.rows_short_term;
  }
  std::vector<WhyChunk> result;
  for (auto& [number, chunk] : chunks) {
    chunk.chunk = number;
    chunk.spans = record.spans(number);
    chunk.layer_weights.resize(static_cast<std::size_t>(layout.layers), 0.0);
    for (double weight : chunk.layer_weights) chunk.weight += weight / with_rows;
    if (votes.contains(number)) chunk.vote = votes[number];
    if (chunk.rows_recalled > 0 || chunk.rows_short_term > 0) result.push_back(std::move(chunk));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const WhyChunk& a, const WhyChunk& b) { return a.vote > b.vote; });
  return result;
}

}  // namespace mplus::engine
