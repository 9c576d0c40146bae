// From scores of rows to scores of chunks and votes: the parts that exact search (vote.h) and search in two
// levels (search.h) share.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "mplus/memory/recall/chunk_slots.h"
#include "mplus/memory/recall/vote.h"

namespace mplus::memory {

// Calls f(row, birth, score) for every row that counts.
template <class F>
void for_rows(const LayerScores& layer, F&& f) {
  std::int64_t row = 0;
  for (const ScorePiece& piece : layer.pieces)
    for (std::size_t i = 0; i < piece.births.size(); ++i, ++row)
      if (!std::isnan(piece.scores[i])) f(row, piece.births[i], piece.scores[i]);
}

// By slot: the mean score of a chunk's rows, or of its `top` best if top > 0; NaN where the layer has none.
std::vector<double> chunk_scores(const LayerScores& layer, const ChunkSlots& slots, std::int64_t top);

// The same for one chunk, of its rows' scores; NaN where it has none.
double mean_score(std::span<const float> scores, std::int64_t top);

struct Spread {
  double mean = 0, sd = 0;
};
// Over the values that are numbers. `missing_variance`: what they lack because some were estimated.
Spread spread_of(const std::vector<double>& values, double missing_variance = 0);

// (value − mean) / (sd + 1e−6) over the values that are numbers; the others stay as they are.
void standardise(std::vector<double>& values, const Spread& spread);

// The mean of the layers' standardised scores by slot, [L], weighted as the options say.
Votes weighted_votes(const ChunkSlots& slots, std::vector<std::vector<double>> layers,
                     const VoteOptions& options);

}  // namespace mplus::memory
