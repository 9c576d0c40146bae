// Scores of stored rows against a question: score(j) = mean over the question's tokens of sigmoid(q_t ·
// key_j). One pass over a layer's retriever keys scores all tokens of the question.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/vote.h"

namespace mplus::memory {

// What a layer knows of the question: states of the T tokens that ask (the scouts), in host memory.
struct LayerQueries {
  std::int64_t T = 0;
  const float* retriever = nullptr;  // [T, d_r]; null in a layer without a retriever
  const float* attention = nullptr;  // [T, H·e], before RoPE
  const float* pool = nullptr;       // [T], sums to 1: the tokens' shares in one query vector; null where the
                                     // weights bring none
  std::int64_t heads = 0, head_size = 0;  // H, e: how `attention` is cut
  // `retriever` once more, where a pass left it on another device, else empty; at least T rows.
  ConstTensor there = {};
  // What the device can do while the host chooses rows; whoever asks may leave it undone.
  const std::function<void()>* meanwhile = nullptr;

  ConstTensor retriever_rows(std::int64_t d_r) const { return {retriever, DType::f32, {T, d_r}}; }
};

struct RecalledRow {
  RowId id;
  std::int64_t birth = 0;
  float score = 0;
};

// Scores of one layer's rows in store order, a piece for each segment (short-term slots: one piece). Births
// stay where they are: this is valid as long as the memory is not written to. Rows that have expired are NaN.
struct ScoredRows {
  std::shared_ptr<float[]> values;
  LayerScores scores;

  std::int64_t rows() const;
  RowId id(std::int64_t row) const;  // of a long-term row
  std::int64_t birth(RowId id) const { return scores.pieces[id.segment].births[id.row]; }
  float score(RowId id) const { return scores.pieces[id.segment].scores[id.row]; }
  // Of the rows that are there, in order.
  std::vector<std::int64_t> living_births() const;
  std::vector<float> living_scores() const;
};

// Their retriever keys, as they are scored.
ConstTensor key_rows(const RowsView& rows, const Layout& layout);

ScoredRows score_long_term(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                           const LayerQueries& queries);
// The same by the processor alone, which reads the keys where they lie; with queries of a retriever.
ScoredRows score_where_stored(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                              const LayerQueries& queries);
ScoredRows score_short_term(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                            const LayerQueries& queries);
// Every living row with score 0.
ScoredRows list_long_term(const Memory& memory, std::int64_t layer);
ScoredRows list_short_term(const Memory& memory, std::int64_t layer);
// One layer's rows of both kinds, the older ones numbered first. Valid as long as the two are.
LayerScores joined(const ScoredRows& long_term, const ScoredRows& short_term);

// Without a retriever: the mean over heads and tokens of query · key, both before RoPE.
ScoredRows attention_long_term(const Memory& memory, std::int64_t layer, const LayerQueries& queries);

// The vote over short- and long-term rows together: what is shown to people. `long_term`: scores of the
// long-term rows where they are known already, else empty.
Votes vote_over_everything(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
                           const VoteOptions& options = {}, std::span<const ScoredRows> long_term = {});

}  // namespace mplus::memory
