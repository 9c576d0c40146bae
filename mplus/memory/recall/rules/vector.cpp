#include <cmath>
#include <map>

#include "mplus/core/error.h"
#include "mplus/memory/recall/rules/rules.h"

namespace mplus::memory {
namespace {

// Σ over tokens of share · query: one query for the layer, [d_r].
std::vector<double> pooled_query(const LayerQueries& queries, std::int64_t d_r) {
  std::vector<double> pooled(static_cast<std::size_t>(d_r), 0.0);
  for (std::int64_t t = 0; t < queries.T; ++t)
    for (std::int64_t i = 0; i < d_r; ++i)
      pooled[static_cast<std::size_t>(i)] +=
          static_cast<double>(queries.pool[t]) * static_cast<double>(queries.retriever[t * d_r + i]);
  return pooled;
}

struct KeySum {
  std::vector<double> key;  // [d_r]
  double rows = 0;
};

// The mean key of each chunk of a layer, as a sum and a count.
std::map<std::int64_t, KeySum> chunk_keys(const Memory& memory, std::int64_t layer) {
  const Layout& layout = memory.layout();
  std::map<std::int64_t, KeySum> chunks;
  std::vector<float> key(static_cast<std::size_t>(layout.retriever));
  const auto& segments = memory.long_term().segments();
  for (const SegmentUse& use : segments) use.segment->touch(layer, SegmentPart::retriever_keys);
  memory.long_term().for_each(layer, [&](RowId id, std::int64_t birth) {
    KeySum& chunk = chunks[chunk_of(birth, layout.K)];
    chunk.key.resize(key.size(), 0.0);
    const RowsView rows = segments[id.segment].rows(layer);
    rows.expand_key(layout, key.data(), id.row);
    for (std::size_t i = 0; i < key.size(); ++i) chunk.key[i] += static_cast<double>(key[i]);
    ++chunk.rows;
  });
  return chunks;
}

}  // namespace

Votes vector_votes(const Memory& memory, std::span<const LayerQueries> scout) {
  struct Match {
    double product = 0, norm = 0;
  };
  std::map<std::int64_t, Match> matches;
  double query_norm = 0;
  for (std::size_t l = 0; l < scout.size(); ++l) {
    if (scout[l].retriever == nullptr) continue;
    MPLUS_CHECK(scout[l].pool != nullptr, "layer {}: no shares of the tokens", l);
    const std::vector<double> query = pooled_query(scout[l], memory.layout().retriever);
    for (const double q : query) query_norm += q * q;
    for (const auto& [chunk, sum] : chunk_keys(memory, static_cast<std::int64_t>(l))) {
      Match& match = matches[chunk];
      for (std::size_t i = 0; i < query.size(); ++i) {
        const double mean = sum.key[i] / sum.rows;
        match.product += query[i] * mean;
        match.norm += mean * mean;
      }
    }
  }
  Votes votes;
  for (const auto& [chunk, match] : matches) {
    const double norms = std::sqrt(match.norm * query_norm);
    votes.chunks.push_back(chunk);
    votes.votes.push_back(norms > 0 ? match.product / norms : 0.0);
  }
  votes.held.assign(votes.chunks.size(), true);
  return votes;
}

}  // namespace mplus::memory
