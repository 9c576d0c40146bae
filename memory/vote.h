// The vote of the layers on chunks (docs/architecture.md, "Recall"). A chunk is written into all layers at
// once, so each layer's scores say something about the same text: standardised per layer, they are averaged
// into one vote a chunk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mplus::memory {

// Scores of one layer's rows, in any order.
struct LayerScores {
  std::span<const std::int64_t> births;
  std::span<const float> scores;
};

struct VoteOptions {
  std::vector<double> layer_weights;  // empty: all 1
  std::int64_t top = 0;               // a chunk's score is the mean of its `top` best rows; 0: of all
};

// Votes for the chunks first … first + votes.size() − 1; a chunk that no layer holds has vote 0.
struct Votes {
  std::int64_t first_chunk = 0;
  std::vector<double> votes;

  std::vector<std::int64_t> order() const;  // chunks by falling vote, ties older first
  double operator[](std::int64_t chunk) const { return votes[static_cast<std::size_t>(chunk - first_chunk)]; }
  bool contains(std::int64_t chunk) const {
    return chunk >= first_chunk && chunk < first_chunk + static_cast<std::int64_t>(votes.size());
  }
};

// Chunks up to `newest_chunk` are listed even when no layer holds them.
Votes vote(std::span<const LayerScores> layers, std::int64_t K, std::int64_t newest_chunk,
           const VoteOptions& options = {});

// One layer's share of a recall: its rows of the best chunk, then of the next, until K0 are taken; the last
// chunk gives its best-scored rows (tie: older first). Returns indices into the layer's arrays, in order of
// birth.
std::vector<std::int64_t> take_by_chunk(const LayerScores& layer, std::span<const std::int64_t> chunk_order,
                                        std::int64_t K, std::int64_t K0);

// The paper's rule: the K0 best-scored rows (tie: older first), in order of birth.
std::vector<std::int64_t> take_best(const LayerScores& layer, std::int64_t K0);

}  // namespace mplus::memory
