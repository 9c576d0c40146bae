#include "mplus/memory/recall/chunk_scores.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "mplus/core/error.h"
#include "mplus/kernels/retrieval/score_units.h"

namespace mplus::memory {
namespace {

struct Mean {
  std::int64_t sum = 0;
  std::int64_t rows = 0;
  double value() const { return kernels::mean_of_units(sum, rows); }
};

// Of the `top` best.
Mean best_of(std::span<std::int64_t> scores, std::int64_t top) {
  const auto n = std::min(top, std::ssize(scores));
  if (n < std::ssize(scores))
    std::nth_element(scores.begin(), scores.begin() + n, scores.end(), std::greater<>());
  return {std::accumulate(scores.begin(), scores.begin() + n, std::int64_t{0}), n};
}

void sum_all(std::vector<Mean>& chunks, const LayerScores& layer, const ChunkSlots& slots) {
  ChunkCursor cursor(slots);
  for_rows(layer, [&](std::int64_t, std::int64_t birth, float score) {
    Mean& chunk = chunks[cursor.slot(birth)];
    chunk.sum += kernels::score_units(score);
    ++chunk.rows;
  });
}

constexpr std::int64_t kFewBest = 32;  // so many are kept in order while rows pass by

// A chunk's best scores, the largest first; `scores` has room for `top`.
void keep(Mean& best, std::int64_t* scores, std::int64_t score, std::int64_t top) {
  if (best.rows == top && score <= scores[top - 1]) return;
  std::int64_t at = best.rows < top ? best.rows++ : top - 1;
  for (; at > 0 && scores[at - 1] < score; --at) scores[at] = scores[at - 1];
  scores[at] = score;
}

void sum_few_best(std::vector<Mean>& chunks, const LayerScores& layer, const ChunkSlots& slots,
                  std::int64_t top) {
  const auto room = static_cast<std::size_t>(top);
  std::vector<std::int64_t> best(chunks.size() * room);
  ChunkCursor cursor(slots);
  for_rows(layer, [&](std::int64_t, std::int64_t birth, float score) {
    const std::size_t slot = cursor.slot(birth);
    keep(chunks[slot], best.data() + slot * room, kernels::score_units(score), top);
  });
  const std::int64_t* scores = best.data();
  for (Mean& chunk : chunks) {
    chunk.sum = std::accumulate(scores, scores + chunk.rows, std::int64_t{0});
    scores += top;
  }
}

void sum_many_best(std::vector<Mean>& chunks, const LayerScores& layer, const ChunkSlots& slots,
                   std::int64_t top) {
  std::vector<std::size_t> end(chunks.size() + 1, 0);  // of each chunk's scores, once they are all in
  ChunkCursor counting(slots);
  for_rows(layer, [&](std::int64_t, std::int64_t birth, float) { ++end[counting.slot(birth) + 1]; });
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<std::int64_t> scores(end.back());
  ChunkCursor placing(slots);
  for_rows(layer, [&](std::int64_t, std::int64_t birth, float score) {
    scores[end[placing.slot(birth)]++] = kernels::score_units(score);
  });
  std::size_t begin = 0;
  for (std::size_t c = 0; c < chunks.size(); begin = end[c++])
    chunks[c] = best_of(std::span(scores).subspan(begin, end[c] - begin), top);
}

}  // namespace

std::vector<double> chunk_scores(const LayerScores& layer, const ChunkSlots& slots, std::int64_t top) {
  std::vector<Mean> chunks(slots.size());
  if (top > kFewBest) {
    sum_many_best(chunks, layer, slots, top);
  } else if (top > 0) {
    sum_few_best(chunks, layer, slots, top);
  } else {
    sum_all(chunks, layer, slots);
  }
  std::vector<double> scores(chunks.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t c = 0; c < scores.size(); ++c)
    if (chunks[c].rows > 0) scores[c] = chunks[c].value();
  return scores;
}

double mean_score(std::span<const float> scores, std::int64_t top) {
  std::vector<std::int64_t> in_units;
  for (const float score : scores)
    if (!std::isnan(score)) in_units.push_back(kernels::score_units(score));
  return best_of(in_units, top > 0 ? top : std::ssize(in_units)).value();
}

Spread spread_of(const std::vector<double>& values, double missing_variance) {
  double n = 0, mean = 0, variance = missing_variance;
  for (const double v : values) n += std::isnan(v) ? 0 : 1;
  for (const double v : values) mean += std::isnan(v) ? 0 : v / n;
  for (const double v : values) variance += std::isnan(v) ? 0 : (v - mean) * (v - mean) / n;
  return {mean, std::sqrt(variance)};
}

void standardise(std::vector<double>& values, const Spread& spread) {
  for (double& v : values) v = (v - spread.mean) / (spread.sd + 1e-6);
}

Votes weighted_votes(const ChunkSlots& slots, std::vector<std::vector<double>> layers,
                     const VoteOptions& options) {
  Votes result{.chunks = slots.chunks(),
               .votes = std::vector<double>(slots.size(), 0.0),
               .held = std::vector<bool>(slots.size(), false),
               .layers = {}};
  double total_weight = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const double weight = options.layer_weights.empty() ? 1.0 : options.layer_weights[l];
    total_weight += weight;
    const std::vector<double>& z = layers[l];
    for (std::size_t c = 0; c < z.size(); ++c) {
      if (std::isnan(z[c])) continue;
      result.votes[c] += weight * z[c];
      result.held[c] = true;
    }
  }
  if (total_weight > 0)
    for (double& v : result.votes) v /= total_weight;
  if (options.keep_layers) result.layers = std::move(layers);
  return result;
}

}  // namespace mplus::memory
