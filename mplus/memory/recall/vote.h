// The vote of the layers on chunks (docs/recall.md, "The rules"). A chunk is written into all layers at
// once, so each layer's scores say something about the same text: standardised per layer, they are averaged
// into one vote a chunk. Nothing here depends on the order in which rows are listed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mplus/core/recall_policy.h"
#include "mplus/kernels/queue.h"

namespace mplus::memory {

// A score per chunk from outside (such as a full-text index), or none.
using Prior = std::function<double(std::int64_t chunk)>;

// Scores of one layer's rows: pieces of columns that lie where they are, in any order. Rows are numbered
// through all pieces; one whose score is NaN does not count.
struct ScorePiece {
  std::span<const std::int64_t> births;
  std::span<const float> scores;
};
struct LayerScores {
  LayerScores() = default;
  LayerScores(std::span<const std::int64_t> births, std::span<const float> scores)
      : pieces{{births, scores}} {}
  std::vector<ScorePiece> pieces;
};

struct VoteOptions {
  std::vector<double> layer_weights;  // empty: all 1
  std::int64_t top = 0;               // a chunk's score is the mean of its `top` best rows; 0: of all
  bool keep_layers = false;           // fill Votes::layers
};

// One vote for every chunk that rows lead to and for every update so far; one that no layer holds has vote 0.
struct Votes {
  std::vector<std::int64_t> chunks;         // ascending
  std::vector<double> votes;                // of each
  std::vector<bool> held;                   // of each: some layer has rows of it
  std::vector<std::vector<double>> layers;  // [L] of each chunk's z, NaN where the layer has none; if kept
  double missing_variance = 0;              // of the votes: what those lack that were estimated (search.h)

  std::vector<std::int64_t> order() const;  // chunks by falling vote, ties older first
  bool contains(std::int64_t chunk) const;
  double operator[](std::int64_t chunk) const { return votes[place(chunk)]; }
  std::size_t place(std::int64_t chunk) const;  // in the vectors; the chunk must be contained
  double deviation() const;                     // standard, over the chunks held
  double behind(std::int64_t chunk) const;      // how many of them below the best
  // The first ones of order(): up to so many of them below the best.
  std::vector<std::int64_t> leaders(double margin) const;
};

// Updates up to `newest_chunk` are listed even when no layer holds them. With a queue its threads share
// the work.
Votes vote(std::span<const LayerScores> layers, std::int64_t K, std::int64_t newest_chunk,
           const VoteOptions& options = {}, kernels::Queue* queue = nullptr);

// total(u) = standardised vote(u) + weight · standardised prior(u), both over the chunks held. Chunks that
// are not held keep vote 0.
Votes with_prior(Votes votes, const Prior& prior, double weight);

// One layer's share of a recall: its rows of the best chunk, then of the next, until K0 are taken; the last
// chunk gives its best-scored rows (tie: older first). Returns numbers of rows, in order of birth.
std::vector<std::int64_t> take_by_chunk(const LayerScores& layer, std::span<const std::int64_t> chunk_order,
                                        std::int64_t K, std::int64_t K0);

// The paper's rule: the K0 best-scored rows (tie: older first), in order of birth.
std::vector<std::int64_t> take_best(const LayerScores& layer, std::int64_t K0);

}  // namespace mplus::memory
