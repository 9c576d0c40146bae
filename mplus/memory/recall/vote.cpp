#include "mplus/memory/recall/vote.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mplus/core/error.h"
#include "mplus/kernels/parallel.h"
#include "mplus/memory/recall/chunk_scores.h"

namespace mplus::memory {
namespace {

struct Row {
  std::int64_t row;
  std::int64_t birth;
  float score;
};

// The `wanted` best rows by score, ties older first, then in store order.
void keep_best(std::vector<Row>& rows, std::int64_t wanted) {
  if (wanted >= std::ssize(rows)) return;
  const auto better = [](const Row& a, const Row& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.birth != b.birth ? a.birth < b.birth : a.row < b.row;
  };
  std::nth_element(rows.begin(), rows.begin() + wanted, rows.end(), better);
  rows.resize(static_cast<std::size_t>(wanted));
}

std::vector<std::int64_t> by_birth(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.birth != b.birth ? a.birth < b.birth : a.row < b.row;
  });
  std::vector<std::int64_t> numbers;
  numbers.reserve(rows.size());
  for (const Row& row : rows) numbers.push_back(row.row);
  return numbers;
}

// The rows of each of these chunks, in the chunks' order: one look at every row.
std::vector<std::vector<Row>> rows_of(const LayerScores& layer, std::span<const std::int64_t> chunks,
                                      std::int64_t K) {
  std::vector<std::pair<std::int64_t, std::size_t>> first_births;  // ascending, with the chunk's place
  for (std::size_t place = 0; place < chunks.size(); ++place)
    first_births.emplace_back(chunks[place] * K, place);
  std::sort(first_births.begin(), first_births.end());
  std::vector<std::vector<Row>> rows(chunks.size());
  // What was found for the last birth holds for its neighbours in [low, high), too.
  std::int64_t low = 0, high = 0;
  std::vector<Row>* wanted = nullptr;
  const auto look_up = [&](std::int64_t birth) {
    const auto after = std::upper_bound(first_births.begin(), first_births.end(), birth,
                                        [](std::int64_t b, const auto& chunk) { return b < chunk.first; });
    low = std::numeric_limits<std::int64_t>::min();
    high = after == first_births.end() ? std::numeric_limits<std::int64_t>::max() : after->first;
    wanted = nullptr;
    if (after == first_births.begin()) return;
    const auto before = std::prev(after);
    low = before->first + K;
    if (birth >= low) return;
    low = before->first;
    high = std::min(high, before->first + K);
    wanted = &rows[before->second];
  };
  for_rows(layer, [&](std::int64_t row, std::int64_t birth, float score) {
    if (birth < low || birth >= high) look_up(birth);
    if (wanted) wanted->push_back({row, birth, score});
  });
  return rows;
}

}  // namespace

std::vector<std::int64_t> Votes::order() const {
  std::vector<std::size_t> places(chunks.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return votes[a] > votes[b]; });
  std::vector<std::int64_t> result(chunks.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = chunks[places[i]];
  return result;
}

bool Votes::contains(std::int64_t chunk) const {
  return std::binary_search(chunks.begin(), chunks.end(), chunk);
}

std::size_t Votes::place(std::int64_t chunk) const {
  const auto at = std::lower_bound(chunks.begin(), chunks.end(), chunk);
  MPLUS_CHECK(at != chunks.end() && *at == chunk, "there is no vote on chunk {}", chunk);
  return static_cast<std::size_t>(at - chunks.begin());
}

std::vector<std::int64_t> Votes::leaders(double margin) const {
  std::vector<std::int64_t> first = order();
  if (margin == kNoMargin) return first;
  const double reach = margin * deviation();
  const auto behind = std::find_if(first.begin(), first.end(), [&](std::int64_t chunk) {
    return (*this)[first.front()] - (*this)[chunk] > reach;
  });
  first.erase(behind, first.end());
  return first;
}

double Votes::behind(std::int64_t chunk) const {
  const double distance = *std::max_element(votes.begin(), votes.end()) - (*this)[chunk];
  return distance > 0 ? distance / deviation() : 0;
}

double Votes::deviation() const {
  std::vector<double> values(votes.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t c = 0; c < values.size(); ++c)
    if (held[c]) values[c] = votes[c];
  return spread_of(values, missing_variance).sd;
}

Votes vote(std::span<const LayerScores> layers, std::int64_t K, std::int64_t newest_chunk,
           const VoteOptions& options, kernels::Queue* queue) {
  MPLUS_CHECK(options.layer_weights.empty() || options.layer_weights.size() == layers.size(),
              "{} weights for {} layers", options.layer_weights.size(), layers.size());
  ChunkSlots slots(K, newest_chunk);
  std::int64_t rows = 0;
  for (const LayerScores& layer : layers)
    for (const ScorePiece& piece : layer.pieces) {
      slots.add(piece.births);
      rows += std::ssize(piece.births);
    }
  std::vector<std::vector<double>> scores(layers.size());
  const auto one_layer = [&](std::int64_t l, int) {
    const auto layer = static_cast<std::size_t>(l);
    scores[layer] = chunk_scores(layers[layer], slots, options.top);
    standardise(scores[layer], spread_of(scores[layer]));
  };
  if (queue) {
    kernels::parallel(*queue, std::ssize(layers), rows, one_layer);
  } else {
    for (std::int64_t l = 0; l < std::ssize(layers); ++l) one_layer(l, 0);
  }
  return weighted_votes(slots, std::move(scores), options);
}

Votes with_prior(Votes votes, const Prior& prior, double weight) {
  std::vector<double> vote(votes.chunks.size(), std::numeric_limits<double>::quiet_NaN()), outside = vote;
  for (std::size_t c = 0; c < vote.size(); ++c) {
    if (!votes.held[c]) continue;
    vote[c] = votes.votes[c];
    outside[c] = prior(votes.chunks[c]);
  }
  standardise(vote, spread_of(vote, votes.missing_variance));
  standardise(outside, spread_of(outside));
  for (std::size_t c = 0; c < vote.size(); ++c)
    if (votes.held[c]) votes.votes[c] = vote[c] + weight * outside[c];
  return votes;
}

std::vector<std::int64_t> take_by_chunk(const LayerScores& layer, std::span<const std::int64_t> chunk_order,
                                        std::int64_t K, std::int64_t K0) {
  std::vector<Row> taken;
  // A few chunks fill K0 as a rule; where they are nearly forgotten more are looked at.
  std::size_t looked_at = 0;
  for (std::size_t batch = static_cast<std::size_t>(K0 / K + 8); looked_at < chunk_order.size(); batch *= 4) {
    const auto chunks = chunk_order.subspan(looked_at, std::min(batch, chunk_order.size() - looked_at));
    looked_at += chunks.size();
    for (std::vector<Row>& rows : rows_of(layer, chunks, K)) {
      keep_best(rows, K0 - std::ssize(taken));
      taken.insert(taken.end(), rows.begin(), rows.end());
    }
    if (std::ssize(taken) >= K0) break;
  }
  return by_birth(std::move(taken));
}

std::vector<std::int64_t> take_best(const LayerScores& layer, std::int64_t K0) {
  std::vector<Row> rows;
  for_rows(layer, [&](std::int64_t row, std::int64_t birth, float score) {
    rows.push_back({row, birth, score});
  });
  keep_best(rows, K0);
  return by_birth(std::move(rows));
}

}  // namespace mplus::memory
