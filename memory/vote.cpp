#include "mplus/memory/vote.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "mplus/core/error.h"
#include "mplus/memory/layout.h"

namespace mplus::memory {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

struct ChunkScore {
  std::int64_t chunk;
  double score;
};

// c_l(u): the mean of a chunk's (best) scores, for the chunks this layer holds.
std::vector<ChunkScore> chunk_scores(const LayerScores& layer, std::int64_t K, std::int64_t top) {
  std::vector<std::pair<std::int64_t, float>> rows(layer.births.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {chunk_of(layer.births[i], K), layer.scores[i]};
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::vector<ChunkScore> chunks;
  for (std::size_t i = 0; i < rows.size();) {
    const std::int64_t chunk = rows[i].first;
    double sum = 0;
    std::int64_t taken = 0;
    for (; i < rows.size() && rows[i].first == chunk; ++i) {
      if (top > 0 && taken == top) continue;
      sum += static_cast<double>(rows[i].second);
      ++taken;
    }
    chunks.push_back({chunk, sum / static_cast<double>(taken)});
  }
  return chunks;
}

void standardise(std::vector<ChunkScore>& chunks) {
  const auto n = static_cast<double>(chunks.size());
  double mean = 0;
  for (const auto& c : chunks) mean += c.score / n;
  double variance = 0;
  for (const auto& c : chunks) variance += (c.score - mean) * (c.score - mean) / n;
  const double sd = std::sqrt(variance);
  for (auto& c : chunks) c.score = (c.score - mean) / (sd + 1e-6);
}

// Row indices by falling score, ties older first (then store order).
std::vector<std::int64_t> by_score(const LayerScores& layer, std::vector<std::int64_t> rows,
                                   std::int64_t wanted) {
  const auto better = [&](std::int64_t a, std::int64_t b) {
    if (layer.scores[index(a)] != layer.scores[index(b)])
      return layer.scores[index(a)] > layer.scores[index(b)];
    if (layer.births[index(a)] != layer.births[index(b)])
      return layer.births[index(a)] < layer.births[index(b)];
    return a < b;
  };
  if (wanted < static_cast<std::int64_t>(rows.size())) {
    std::nth_element(rows.begin(), rows.begin() + wanted, rows.end(), better);
    rows.resize(index(wanted));
  }
  return rows;
}

void sort_by_birth(const LayerScores& layer, std::vector<std::int64_t>& rows) {
  std::sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
    return layer.births[index(a)] != layer.births[index(b)] ? layer.births[index(a)] < layer.births[index(b)]
                                                            : a < b;
  });
}

}  // namespace

std::vector<std::int64_t> Votes::order() const {
  std::vector<std::int64_t> chunks(votes.size());
  std::iota(chunks.begin(), chunks.end(), first_chunk);
  std::stable_sort(chunks.begin(), chunks.end(),
                   [&](std::int64_t a, std::int64_t b) { return (*this)[a] > (*this)[b]; });
  return chunks;
}

Votes vote(std::span<const LayerScores> layers, std::int64_t K, std::int64_t newest_chunk,
           const VoteOptions& options) {
  MPLUS_CHECK(options.layer_weights.empty() || options.layer_weights.size() == layers.size(),
              "{} weights for {} layers", options.layer_weights.size(), layers.size());
  Votes result;
  std::int64_t first = 0;
  for (const auto& layer : layers)
    for (std::int64_t birth : layer.births) first = std::min(first, chunk_of(birth, K));
  result.first_chunk = first;
  result.votes.assign(index(std::max<std::int64_t>(0, newest_chunk - first + 1)), 0.0);
  double total_weight = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const double weight = options.layer_weights.empty() ? 1.0 : options.layer_weights[l];
    total_weight += weight;
    auto chunks = chunk_scores(layers[l], K, options.top);
    standardise(chunks);
    for (const auto& c : chunks) result.votes[index(c.chunk - first)] += weight * c.score;
  }
  if (total_weight > 0)
    for (double& v : result.votes) v /= total_weight;
  return result;
}

std::vector<std::int64_t> take_by_chunk(const LayerScores& layer, std::span<const std::int64_t> chunk_order,
                                        std::int64_t K, std::int64_t K0) {
  std::vector<std::int64_t> rows(layer.births.size());
  std::iota(rows.begin(), rows.end(), 0);
  sort_by_birth(layer, rows);
  std::vector<std::int64_t> taken;
  for (std::int64_t chunk : chunk_order) {
    const auto left = K0 - static_cast<std::int64_t>(taken.size());
    if (left <= 0) break;
    const auto begin = std::lower_bound(
        rows.begin(), rows.end(), chunk,
        [&](std::int64_t row, std::int64_t c) { return chunk_of(layer.births[index(row)], K) < c; });
    auto end = begin;
    while (end != rows.end() && chunk_of(layer.births[index(*end)], K) == chunk) ++end;
    const auto share = by_score(layer, {begin, end}, left);
    taken.insert(taken.end(), share.begin(), share.end());
  }
  sort_by_birth(layer, taken);
  return taken;
}

std::vector<std::int64_t> take_best(const LayerScores& layer, std::int64_t K0) {
  std::vector<std::int64_t> rows(layer.births.size());
  std::iota(rows.begin(), rows.end(), 0);
  rows = by_score(layer, std::move(rows), K0);
  sort_by_birth(layer, rows);
  return rows;
}

}  // namespace mplus::memory
