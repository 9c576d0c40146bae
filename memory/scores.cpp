#include "mplus/memory/scores.h"

#include "mplus/core/error.h"
#include "mplus/kernels/convert.h"
#include "mplus/kernels/retrieval.h"

namespace mplus::memory {
namespace {

ScoredRows with_room(const Memory& memory, std::int64_t layer) {
  ScoredRows rows;
  const auto n = static_cast<std::size_t>(memory.long_term().size(layer));
  rows.ids.reserve(n);
  rows.births.reserve(n);
  rows.scores.reserve(n);
  return rows;
}

// What the mean over tokens and heads of query · key multiplies each key value with: [G·e].
std::vector<double> mean_query(const Layout& layout, const LayerQueries& queries) {
  const std::int64_t e = queries.head_size;
  const std::int64_t heads_per_group = queries.heads / (layout.kv / e);
  std::vector<double> sums(static_cast<std::size_t>(layout.kv), 0.0);
  const float* q = queries.attention;
  for (std::int64_t t = 0; t < queries.T; ++t)
    for (std::int64_t h = 0; h < queries.heads; ++h)
      for (std::int64_t i = 0; i < e; ++i)
        sums[static_cast<std::size_t>(h / heads_per_group * e + i)] += static_cast<double>(*q++);
  for (double& s : sums) s /= static_cast<double>(queries.T * queries.heads);
  return sums;
}

}  // namespace

ScoredRows score_long_term(kernels::Context& context, const Memory& memory, std::int64_t layer,
                           const LayerQueries& queries) {
  if (queries.retriever == nullptr || queries.T == 0) return {};
  ScoredRows result = with_room(memory, layer);
  const Layout& layout = memory.layout();
  const auto& segments = memory.long_term().segments();
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

ScoredRows list_long_term(const Memory& memory, std::int64_t layer) {
  ScoredRows result = with_room(memory, layer);
  memory.long_term().for_each(layer, [&](RowId id, std::int64_t birth) {
    result.ids.push_back(id);
    result.births.push_back(birth);
  });
  result.scores.assign(result.ids.size(), 0.0f);
  return result;
}

ScoredRows attention_long_term(const Memory& memory, std::int64_t layer, const LayerQueries& queries) {
  ScoredRows result = list_long_term(memory, layer);
  if (queries.T == 0) return result;
  const Layout& layout = memory.layout();
  MPLUS_CHECK(queries.attention && queries.head_size > 0 && layout.kv % queries.head_size == 0,
              "keys of {} values, heads of {}", layout.kv, queries.head_size);
  const std::vector<double> query = mean_query(layout, queries);
  std::vector<float> key(static_cast<std::size_t>(layout.kv));
  for (std::size_t i = 0; i < result.ids.size(); ++i) {
    const RowsView rows = memory.long_term().rows_of(layer, result.ids[i]);
    kernels::to_f32(key.data(), rows.k_row(layout, result.ids[i].row), layout.dtype, layout.kv);
    double product = 0;
    for (std::size_t c = 0; c < key.size(); ++c) product += query[c] * static_cast<double>(key[c]);
    result.scores[i] = static_cast<float>(product);
  }
  return result;
}

Votes vote_over_everything(kernels::Context& context, const Memory& memory,
                           std::span<const LayerQueries> scout, const VoteOptions& options,
                           std::span<const ScoredRows> long_term) {
  MPLUS_CHECK(long_term.empty() || long_term.size() == scout.size(), "scores of {} layers of {}",
              long_term.size(), scout.size());
  std::vector<ScoredRows> rows(scout.size());
  std::vector<LayerScores> views(scout.size());
  for (std::size_t l = 0; l < scout.size(); ++l) {
    const auto layer = static_cast<std::int64_t>(l);
    rows[l] = long_term.empty() ? score_long_term(context, memory, layer, scout[l]) : long_term[l];
    const ScoredRows recent = score_short_term(context, memory, layer, scout[l]);
    rows[l].births.insert(rows[l].births.end(), recent.births.begin(), recent.births.end());
    rows[l].scores.insert(rows[l].scores.end(), recent.scores.begin(), recent.scores.end());
    views[l] = rows[l].view();
  }
  return vote(views, memory.layout().K, memory.updates() - 1, options);
}

}  // namespace mplus::memory
