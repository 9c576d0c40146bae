#include "mplus/engine/answer/why.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace mplus::engine {
namespace {

using Chunks = std::map<std::int64_t, WhyChunk>;

void add_recalled(Chunks& chunks, const std::vector<std::vector<memory::RecalledRow>>& recalled,
                  const memory::Layout& layout) {
  for (std::size_t l = 0; l < recalled.size(); ++l) {
    double total = 0;
    for (const auto& row : recalled[l]) total += static_cast<double>(row.score);
    for (const auto& row : recalled[l]) {
      WhyChunk& chunk = chunks[memory::chunk_of(row.birth, layout.K)];
      chunk.layer_weights.resize(static_cast<std::size_t>(layout.remembering_layers()), 0.0);
      const double even = 1.0 / static_cast<double>(recalled[l].size());  // where scores are not known
      const std::int64_t place = layout.remembering.place(static_cast<std::int64_t>(l));
      chunk.layer_weights[static_cast<std::size_t>(place)] +=
          total > 0 ? static_cast<double>(row.score) / total : even;
      ++chunk.rows_recalled;
    }
  }
}

void add_best(Chunks& chunks, const memory::Votes& votes) {
  std::size_t added = 0;
  for (std::int64_t chunk : votes.order()) {
    if (added++ == kWhyChunks) break;
    chunks.try_emplace(chunk);
  }
}

void add_votes(WhyChunk& chunk, const Ranking& ranking, const memory::Layout& layout) {
  if (!ranking.votes.contains(chunk.chunk)) return;
  const std::size_t place = ranking.votes.place(chunk.chunk);
  chunk.vote = ranking.votes.votes[place];
  chunk.total = ranking.totals.votes[place];
  if (ranking.votes.layers.empty()) return;
  for (const std::int64_t l : layout.remembering.list(layout.layers)) {
    const std::vector<double>& layer = ranking.votes.layers[static_cast<std::size_t>(l)];
    chunk.layer_votes.push_back(layer[place]);
    const bool beaten = std::any_of(layer.begin(), layer.end(), [&](double z) { return z > layer[place]; });
    if (!std::isnan(layer[place]) && !beaten) ++chunk.layers_first;
  }
}

void count_short_term(Chunks& chunks, const memory::Memory& memory) {
  for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
    const memory::RowsView slots = memory.short_term(l);
    for (std::int64_t r = 0; r < slots.n; ++r)
      if (const auto at = chunks.find(memory::chunk_of(slots.birth[r], memory.layout().K));
          at != chunks.end())
        ++at->second.rows_short_term;
  }
}

}  // namespace

std::vector<WhyChunk> explain(const memory::Memory& memory, const Record& record,
                              const std::vector<std::vector<memory::RecalledRow>>& recalled,
                              const Ranking& ranking, const memory::Prior& prior) {
  const memory::Layout& layout = memory.layout();
  if (layout.K == 0) return {};
  Chunks chunks;
  add_recalled(chunks, recalled, layout);
  add_best(chunks, ranking.totals);
  count_short_term(chunks, memory);
  const auto with_rows = static_cast<double>(std::max<std::ptrdiff_t>(
      1, std::count_if(recalled.begin(), recalled.end(), [](const auto& r) { return !r.empty(); })));
  std::vector<WhyChunk> result;
  for (auto& [number, chunk] : chunks) {
    chunk.chunk = number;
    chunk.spans = record.spans(number);
    chunk.layer_weights.resize(static_cast<std::size_t>(layout.remembering_layers()), 0.0);
    for (double weight : chunk.layer_weights) chunk.weight += weight / with_rows;
    add_votes(chunk, ranking, layout);
    if (prior) chunk.words = prior(number);
    result.push_back(std::move(chunk));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const WhyChunk& a, const WhyChunk& b) { return a.total > b.total; });
  return result;
}

}  // namespace mplus::engine
