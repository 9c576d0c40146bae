#include "mplus/memory/recall/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "mplus/memory/recall/scored_memory.h"
#include "mplus/memory/recall/search/stored_keys.h"

namespace mplus::memory {
namespace {

// Room for a score of every long-term row of a layer.
ScoredRows room_for(const Memory& memory, std::int64_t layer) {
  ScoredRows rows;
  rows.values = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(stored_rows(memory, layer)));
  rows.scores.pieces = long_term_pieces(memory, layer, rows.values.get());
  return rows;
}

// Where nothing has expired yet there is nothing to look for.
void mark_expired(ScoredRows& rows, const Memory& memory, std::int64_t layer) {
  const LongTermStore& store = memory.long_term();
  if (store.expiry(layer) == Expiry{}) return;
  float* score = rows.values.get();
  for (const SegmentUse& use : store.segments())
    for (std::int64_t r = 0; r < use.rows(layer).n; ++r, ++score)
      if (!store.alive(layer, use, r)) *score = std::numeric_limits<float>::quiet_NaN();
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

ConstTensor key_rows(const RowsView& rows, const Layout& layout) {
  return kernels::key_tensor(rows.key, rows.format == RowFormat::plain ? layout.dtype : DType::i8, rows.n,
                             layout.retriever);
}

std::int64_t ScoredRows::rows() const {
  std::int64_t n = 0;
  for (const ScorePiece& piece : scores.pieces) n += std::ssize(piece.births);
  return n;
}

RowId ScoredRows::id(std::int64_t row) const {
  std::uint32_t segment = 0;
  while (row >= std::ssize(scores.pieces[segment].births)) row -= std::ssize(scores.pieces[segment++].births);
  return {segment, static_cast<std::uint32_t>(row)};
}

std::vector<std::int64_t> ScoredRows::living_births() const {
  std::vector<std::int64_t> births;
  for (const ScorePiece& piece : scores.pieces)
    for (std::size_t i = 0; i < piece.births.size(); ++i)
      if (!std::isnan(piece.scores[i])) births.push_back(piece.births[i]);
  return births;
}

std::vector<float> ScoredRows::living_scores() const {
  std::vector<float> living;
  for (const ScorePiece& piece : scores.pieces)
    for (const float score : piece.scores)
      if (!std::isnan(score)) living.push_back(score);
  return living;
}

ScoredRows score_long_term(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                           const LayerQueries& queries) {
  if (queries.retriever == nullptr || queries.T == 0) return {};
  std::vector<LayerQueries> alone(static_cast<std::size_t>(memory.layout().layers));
  alone[static_cast<std::size_t>(layer)] = queries;
  if (auto scored = score_on_device(queue, memory, alone, {}))
    return std::move(scored->long_term[static_cast<std::size_t>(layer)]);
  return score_where_stored(queue, memory, layer, queries);
}

ScoredRows score_where_stored(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                              const LayerQueries& queries) {
  ScoredRows result = room_for(memory, layer);
  const Layout& layout = memory.layout();
  for (const SegmentUse& use : memory.long_term().segments())
    use.segment->touch(layer, SegmentPart::retriever_keys);
  std::vector<kernels::KeyBlock> plain, small;
  float* scores = result.values.get();
  for (const SegmentUse& use : memory.long_term().segments()) {
    const RowsView rows = use.rows(layer);
    (rows.format == RowFormat::plain ? plain : small)
        .push_back({key_rows(rows, layout), {scores, DType::f32, {rows.n}}});
    scores += rows.n;
  }
  for (const auto* blocks : {&plain, &small})
    kernels::retrieval_scores(queue, *blocks, queries.retriever_rows(layout.retriever));
  mark_expired(result, memory, layer);
  return result;
}

ScoredRows score_short_term(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                            const LayerQueries& queries) {
  if (queries.retriever == nullptr || queries.T == 0) return {};
  ScoredRows result = list_short_term(memory, layer);
  const Layout& layout = memory.layout();
  const RowsView rows = memory.short_term(layer);
  const Tensor scores(result.values.get(), DType::f32, {rows.n});
  const ConstTensor q = queries.retriever_rows(layout.retriever);
  if (!rows.slots) {
    kernels::retrieval_scores(queue, scores, q, key_rows(rows, layout));
    return result;
  }
  std::vector<kernels::RowPlace> places;
  places.reserve(static_cast<std::size_t>(rows.n));
  std::int64_t slots = 0;
  for (std::int64_t r = 0; r < rows.n; ++r) {
    places.push_back({0, rows.slot(r)});
    slots = std::max(slots, rows.slot(r) + 1);
  }
  const ConstTensor keys = kernels::key_tensor(rows.key, layout.dtype, slots, layout.retriever);
  kernels::retrieval_scores(queue, scores, q, kernels::KeyGather{{&keys, 1}, places});
  return result;
}

ScoredRows list_long_term(const Memory& memory, std::int64_t layer) {
  ScoredRows result = room_for(memory, layer);
  float* score = result.values.get();
  for (const ScorePiece& piece : result.scores.pieces) score = std::fill_n(score, piece.scores.size(), 0.0f);
  mark_expired(result, memory, layer);
  return result;
}

ScoredRows list_short_term(const Memory& memory, std::int64_t layer) {
  ScoredRows result;
  const RowsView rows = memory.short_term(layer);
  const auto n = static_cast<std::size_t>(rows.n);
  result.values = std::make_unique<float[]>(n);
  result.scores.pieces.push_back({{rows.birth, n}, {result.values.get(), n}});
  return result;
}

LayerScores joined(const ScoredRows& long_term, const ScoredRows& short_term) {
  LayerScores all = long_term.scores;
  all.pieces.insert(all.pieces.end(), short_term.scores.pieces.begin(), short_term.scores.pieces.end());
  return all;
}

ScoredRows attention_long_term(const Memory& memory, std::int64_t layer, const LayerQueries& queries) {
  ScoredRows result = list_long_term(memory, layer);
  if (queries.T == 0) return result;
  const Layout& layout = memory.layout();
  MPLUS_CHECK(queries.attention && queries.head_size > 0 && layout.kv % queries.head_size == 0,
              "keys of {} values, heads of {}", layout.kv, queries.head_size);
  const std::vector<double> query = mean_query(layout, queries);
  std::vector<float> key(static_cast<std::size_t>(layout.kv));
  float* score = result.values.get();
  for (const SegmentUse& use : memory.long_term().segments()) {
    use.segment->touch(layer, SegmentPart::keys_and_values);
    const RowsView rows = use.rows(layer);
    for (std::int64_t r = 0; r < rows.n; ++r, ++score) {
      rows.expand_k(layout, key.data(), r);
      double product = 0;
      for (std::size_t c = 0; c < key.size(); ++c) product += query[c] * static_cast<double>(key[c]);
      *score += static_cast<float>(product);  // NaN stays NaN
    }
  }
  return result;
}

Votes vote_over_everything(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
                           const VoteOptions& options, std::span<const ScoredRows> long_term) {
  MPLUS_CHECK(long_term.empty() || long_term.size() == scout.size(), "scores of {} layers of {}",
              long_term.size(), scout.size());
  if (auto scored = score_on_device(queue, memory, scout, {.short_term = true, .top = options.top});
      scored && !scored->chunks.empty())
    return vote_of_chunks(memory, std::move(scored->chunks), options);
  std::vector<ScoredRows> older(scout.size()), recent(scout.size());
  std::vector<LayerScores> all(scout.size());
  for (std::size_t l = 0; l < scout.size(); ++l) {
    const auto layer = static_cast<std::int64_t>(l);
    if (long_term.empty()) older[l] = score_long_term(queue, memory, layer, scout[l]);
    recent[l] = score_short_term(queue, memory, layer, scout[l]);
    all[l] = joined(long_term.empty() ? older[l] : long_term[l], recent[l]);
  }
  return vote(all, memory.layout().K, memory.updates() - 1, options, &queue);
}

}  // namespace mplus::memory
