#include "mplus/memory/recall/search/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mplus/kernels/parallel.h"

namespace mplus::memory {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Exact search up to so many times the chunks that two levels look at closely: on the safe side of where it
// pays, since what is estimated may be missed (docs/recall.md).
constexpr std::int64_t kPays = 2;

// Of the variance that estimates leave in the votes, what the layers account for that are scored first.
constexpr double kMost = 0.7;

constexpr std::size_t kContenders = 32;  // chunks whose order the layers' spreads must not confuse

// The i-th of n in an order whose beginnings are spread evenly: steps of nearly the golden section.
class SpreadOrder {
 public:
  explicit SpreadOrder(std::size_t n)
      : n_(n), step_(static_cast<std::size_t>(0.618 * static_cast<double>(n))) {
    while (std::gcd(step_, n_) != 1) ++step_;
  }
  std::size_t operator[](std::size_t i) const { return i * step_ % n_; }

 private:
  std::size_t n_, step_;
};

}  // namespace

bool in_two_levels(const kernels::Queue& queue, const Memory& memory, const SearchOptions& options) {
  if (options.search != Search::automatic) return options.search == Search::two_level;
  if (!queue.device().is_cpu()) return false;
  const std::int64_t pays = kPays * (options.keep + options.sample) * memory.layout().K;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l)
    if (memory.long_term().size(l) > pays) return true;
  return false;
}

TwoLevelSearch::TwoLevelSearch(kernels::Queue& queue, const Memory& memory,
                               std::span<const LayerQueries> scout, const VoteOptions& vote,
                               std::span<const LayerScores> recent)
    : queue_(queue),
      memory_(memory),
      scout_(scout),
      vote_(vote),
      index_(memory.long_term().chunk_index(queue, memory.layout())),
      slots_(memory.layout().K, memory.updates() - 1),
      layers_(static_cast<std::size_t>(memory.layout().layers)) {
  // Files that back a segment since the index was made: throws if one is damaged.
  for (const SegmentUse& use : memory.long_term().segments())
    for (std::size_t l = 0; l < layers_.size(); ++l)
      use.segment->touch(static_cast<std::int64_t>(l), SegmentPart::retriever_keys);
  find_chunks(recent);
  estimate();
  score_recent(recent);
}

std::int64_t TwoLevelSearch::layers_that_hold() const {
  std::int64_t count = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) count += holds(l) ? 1 : 0;
  return count;
}

double TwoLevelSearch::weight(std::size_t layer) const {
  return vote_.layer_weights.empty() ? 1.0 : vote_.layer_weights[layer];
}

void TwoLevelSearch::find_chunks(std::span<const LayerScores> recent) {
  const std::int64_t K = memory_.layout().K;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    std::vector<std::int64_t> births;
    for (const auto& [place, block] : index_->blocks(static_cast<std::int64_t>(l)))
      for (const std::int64_t chunk : block->chunks) births.push_back(chunk * K);
    slots_.add(births);
  }
  for (const LayerScores& layer : recent)
    for (const ScorePiece& piece : layer.pieces) slots_.add(piece.births);
  chosen_.assign(slots_.size(), false);
  queue_.pool().run(std::ssize(layers_), [&](std::int64_t number, int) {
    const auto l = static_cast<std::size_t>(number);
    Layer& layer = layers_[l];
    layer.places.resize(slots_.size());
    layer.estimate.assign(slots_.size(), kNone);
    layer.exact.assign(slots_.size(), kNone);
    layer.values.resize(slots_.size());
    layer.chosen.assign(slots_.size(), false);
    if (!takes_part(l)) return;
    for (const auto& [place, block] : index_->blocks(number))
      for (std::size_t c = 0; c < block->chunks.size(); ++c)
        layer.places[slots_.of_chunk(block->chunks[c])] = {block.get(), c};
  });
}

// So many chunks more in each layer's sample, as far as there are any.
void TwoLevelSearch::sample(std::span<const std::int64_t> chunks) {
  if (slots_.size() == 0) return;
  const SpreadOrder order(slots_.size());
  std::vector<std::vector<std::size_t>> slots(layers_.size());
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    for (std::size_t i = 0; i < slots_.size() && std::ssize(slots[l]) < chunks[l]; ++i)
      if (const std::size_t slot = order[i]; layer.places[slot].block && std::isnan(layer.exact[slot]))
        slots[l].push_back(slot);
    layer.sample.insert(layer.sample.end(), slots[l].begin(), slots[l].end());
  }
  score(std::move(slots));
}

void TwoLevelSearch::choose(std::span<const std::size_t> slots, std::span<const std::size_t> layers) {
  std::vector<std::vector<std::size_t>> wanted(layers_.size());
  for (const std::size_t l : layers) {
    if (!takes_part(l)) continue;
    wanted[l].assign(slots.begin(), slots.end());
    for (const std::size_t slot : slots) chosen_[slot] = layers_[l].chosen[slot] = true;
  }
  score(std::move(wanted));
}

std::vector<std::size_t> TwoLevelSearch::best(const Order& order, std::int64_t chunks) const {
  std::vector<std::size_t> taken;
  std::vector<std::int64_t> rows(layers_.size(), 0);
  std::int64_t short_of_rows = layers_that_hold();
  for (const std::int64_t chunk : order(votes())) {
    if (chunks-- <= 0 && short_of_rows == 0) break;
    if (!slots_.contains(chunk)) continue;  // given from outside, and nothing is left of it
    const std::size_t slot = slots_.of_chunk(chunk);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const auto& [block, c] = layers_[l].places[slot];
      const std::int64_t before = rows[l];
      if (block) rows[l] += std::ssize(block->rows_of(c));
      if (before < memory_.layout().K0 && rows[l] >= memory_.layout().K0) --short_of_rows;
    }
    taken.push_back(slot);
  }
  return taken;
}

std::vector<std::size_t> TwoLevelSearch::every_layer() const {
  std::vector<std::size_t> layers(layers_.size());
  std::iota(layers.begin(), layers.end(), std::size_t{0});
  return layers;
}

std::vector<std::size_t> TwoLevelSearch::layers_that_leave_most_open() const {
  const std::vector<EstimateFit> fits = this->fits();
  std::vector<double> open(layers_.size());
  for (std::size_t l = 0; l < open.size(); ++l)
    open[l] = weight(l) * weight(l) * fits[l].residue / std::pow(fits[l].spread.sd + 1e-6, 2);
  std::vector<std::size_t> layers = every_layer();
  std::stable_sort(layers.begin(), layers.end(),
                   [&](std::size_t a, std::size_t b) { return open[a] > open[b]; });
  const double most = kMost * std::accumulate(open.begin(), open.end(), 0.0);
  if (most <= 0) return layers;
  std::size_t count = 0;
  for (double sum = 0; sum < most; ++count) sum += open[layers[count]];
  layers.resize(count);
  return layers;
}

// Where an error in a layer's spread would move the contenders furthest against each other, the sample grows.
void TwoLevelSearch::sharpen(std::int64_t chunks, const Order& order) {
  const std::vector<EstimateFit> fits = this->fits();
  std::vector<std::int64_t> contenders = order(votes(fits));
  contenders.resize(std::min(contenders.size(), kContenders));
  std::vector<double> need(layers_.size(), 0.0);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    std::vector<double> z;
    for (const std::int64_t chunk : contenders)
      if (slots_.contains(chunk)) z.push_back(fits[l].z[slots_.of_chunk(chunk)]);
    need[l] = weight(l) * fits[l].doubt() * spread_of(z).sd;
  }
  const double all = std::accumulate(need.begin(), need.end(), 0.0);
  if (!(all > 0)) return;
  std::vector<std::int64_t> counts;
  counts.reserve(need.size());
  for (const double n : need)
    counts.push_back(static_cast<std::int64_t>(n / all * static_cast<double>(chunks * layers_that_hold())));
  sample(counts);
}

void TwoLevelSearch::run(const SearchOptions& options, const Order& order) {
  sample(std::vector<std::int64_t>(layers_.size(), options.sample));
  const auto in_every_sample = [&](std::size_t slot) {
    bool somewhere = false;
    for (const Layer& layer : layers_) {
      if (std::isnan(layer.estimate[slot])) continue;  // has no such chunk
      if (std::isnan(layer.exact[slot])) return false;
      somewhere = true;
    }
    return somewhere;
  };
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (!chosen_[slot] && in_every_sample(slot)) in_all_.push_back(slot);
  choose(best(order, options.keep), layers_that_leave_most_open());
  choose(best(order, options.finish), every_layer());
  sharpen(options.sharpen, order);
  choose(best(order, options.finish), every_layer());  // few that are new: the last word on the order
}

std::vector<EstimateFit> TwoLevelSearch::fits() const {
  std::vector<EstimateFit> fits(layers_.size());
  queue_.pool().run(std::ssize(layers_), [&](std::int64_t number, int) {
    const auto l = static_cast<std::size_t>(number);
    const Layer& layer = layers_[l];
    std::vector<std::size_t> sample;
    for (const std::size_t slot : layer.sample)
      if (!layer.chosen[slot]) sample.push_back(slot);
    fits[l] = fit_estimates(layer.estimate, layer.exact, sample);
  });
  return fits;
}

Votes TwoLevelSearch::votes() const { return votes(fits()); }

Votes TwoLevelSearch::votes(std::vector<EstimateFit> fits) const {
  // What estimates leave out of the votes themselves, by the chunks that every layer has in its sample.
  double squares = 0, sampled = 0, total_weight = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) total_weight += weight(l);
  for (const std::size_t slot : in_all_) {
    if (chosen_[slot]) continue;
    double left = 0;
    for (std::size_t l = 0; l < layers_.size(); ++l)
      if (const Layer& layer = layers_[l]; !std::isnan(layer.estimate[slot]))
        left += weight(l) * (layer.exact[slot] - fits[l].score(layer.estimate[slot])) /
                (fits[l].spread.sd + 1e-6);
    squares += left * left;
    ++sampled;
  }
  std::vector<std::vector<double>> z;
  z.reserve(fits.size());
  for (EstimateFit& fit : fits) z.push_back(std::move(fit.z));
  Votes votes = weighted_votes(slots_, std::move(z), vote_);
  double estimates = -sampled, chunks = 0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    chunks += votes.held[slot] ? 1 : 0;
    estimates += votes.held[slot] && !chosen_[slot] ? 1 : 0;
  }
  if (estimates > 0 && sampled > 0 && total_weight > 0)
    votes.missing_variance = squares / sampled / (total_weight * total_weight) * estimates / chunks;
  return votes;
}

Votes vote_in_two_levels(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
                         const VoteOptions& vote, const SearchOptions& search,
                         const TwoLevelSearch::Order& order) {
  std::vector<ScoredRows> recent(scout.size());
  std::vector<LayerScores> views(scout.size());
  for (std::size_t l = 0; l < scout.size(); ++l) {
    recent[l] = score_short_term(queue, memory, static_cast<std::int64_t>(l), scout[l]);
    views[l] = recent[l].scores;
  }
  TwoLevelSearch found(queue, memory, scout, vote, views);
  found.run(search, order);
  return found.votes();
}

}  // namespace mplus::memory
