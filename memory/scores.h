// Scores of stored rows against a question: score(j) = mean over the question's tokens of sigmoid(q_t ·
// key_j). One pass over a layer's retriever keys scores all tokens of the question.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mplus/kernels/context.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/vote.h"

namespace mplus::memory {

// What a layer knows of the question: states of the T tokens that ask (the scouts).
struct LayerQueries {
  std::int64_t T = 0;
  const float* retriever = nullptr;  // [T, d_r]; null in a layer without a retriever
  const float* attention = nullptr;  // [T, H·e], before RoPE
  const float* pool = nullptr;       // [T], sums to 1: the tokens' shares in one query vector; null where the
                                     // weights bring none
  std::int64_t heads = 0, head_size = 0;  // H, e: how `attention` is cut
};

// Rows of one layer in store order (short-term: slot order).
struct ScoredRows {
  std::vector<RowId> ids;  // empty for short-term slots
  std::vector<std::int64_t> births;
  std::vector<float> scores;
  LayerScores view() const { return {births, scores}; }
};

ScoredRows score_long_term(kernels::Context& context, const Memory& memory, std::int64_t layer,
                           const LayerQueries& queries);
ScoredRows score_short_term(kernels::Context& context, const Memory& memory, std::int64_t layer,
                            const LayerQueries& queries);
// Every living long-term row with score 0.
ScoredRows list_long_term(const Memory& memory, std::int64_t layer);

// Without a retriever: the mean over heads and tokens of query · key, both before RoPE.
ScoredRows attention_long_term(const Memory& memory, std::int64_t layer, const LayerQueries& queries);

// The vote over short- and long-term rows together: what is shown to people. `long_term`: scores of the
// long-term rows where they are known already, else empty.
Votes vote_over_everything(kernels::Context& context, const Memory& memory,
                           std::span<const LayerQueries> scout, const VoteOptions& options = {},
                           std::span<const ScoredRows> long_term = {});

}  // namespace mplus::memory
