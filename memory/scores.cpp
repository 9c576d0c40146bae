#include <algorithm>

#include "mplus/kernels/retrieval.h"
#include "mplus/memory/recall.h"

namespace mplus::memory {

ScoredRows score_long_term(kernels::Context& context, const Memory& memory, std::int64_t layer,
                           const LayerQueries& queries) {
  ScoredRows result;
  if (queries.retriever == nullptr || queries.T == 0) return result;
  const Layout& layout = memory.layout();
  const auto& segments = memory.long_term().segments();
  const auto expected = static_cast<std::size_t>(memory.long_term().size(layer));
  result.ids.reserve(expected);
  result.births.reserve(expected);
  result.scores.reserve(expected);
  std::vector<float> scores;
  for (std::uint32_t s = 0; s < segments.size(); ++s) {
    segments[s].segment->touch(layer, SegmentPart::retriever_keys);
    const RowsView rows = segments[s].rows(layer);
    scores.resize(static_cast<std::size_t>(rows.n));
    kernels::retrieval_scores(context, scores.data(), queries.retriever, queries.T, rows.key, layout.dtype,
                              rows.n, layout.retriever);
    for (std::int64_t r = 0; r < rows.n; ++r) {
      if (!memory.long_term().alive(layer, segments[s], r)) continue;
      result.ids.push_back({s, static_cast<std::uint32_t>(r)});
      result.births.push_back(rows.birth[r]);
      result.scores.push_back(scores[static_cast<std::size_t>(r)]);
    }
  }
  return result;
}

ScoredRows score_short_term(kernels::Context& context, const Memory& memory, std::int64_t layer,
                            const LayerQueries& queries) {
  ScoredRows result;
  if (queries.retriever == nullptr || queries.T == 0) return result;
  const RowsView rows = memory.short_term(layer);
  result.births.assign(rows.birth, rows.birth + rows.n);
  result.scores.resize(static_cast<std::size_t>(rows.n));
  kernels::retrieval_scores(context, result.scores.data(), queries.retriever, queries.T, rows.key,
                            memory.layout().dtype, rows.n, memory.layout().retriever);
  return result;
}

Votes vote_over_everything(kernels::Context& context, const Memory& memory,
                           std::span<const LayerQueries> scout, const VoteOptions& options) {
  std::vector<ScoredRows> rows(scout.size());
  std::vector<LayerScores> views(scout.size());
  for (std::size_t l = 0; l < scout.size(); ++l) {
    rows[l] = score_long_term(context, memory, static_cast<std::int64_t>(l), scout[l]);
    const ScoredRows recent = score_short_term(context, memory, static_cast<std::int64_t>(l), scout[l]);
    rows[l].births.insert(rows[l].births.end(), recent.births.begin(), recent.births.end());
    rows[l].scores.insert(rows[l].scores.end(), recent.scores.begin(), recent.scores.end());
    views[l] = rows[l].view();
  }
  return vote(views, memory.layout().K, memory.updates() - 1, options);
}

}  // namespace mplus::memory
