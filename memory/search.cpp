#include "mplus/memory/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/kernels/parallel.h"
#include "mplus/kernels/retrieval.h"
#include "mplus/memory/chunk_scores.h"

namespace mplus::memory {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Exact search up to so many times the chunks that two levels score exactly anyway: on the safe side of where
// it pays, since what is estimated may be missed (docs/recall.md).
constexpr std::int64_t kPays = 4;

// The mean score of a chunk's `top` best rows (0: of all), each row scoring as its group's mean key does.
double estimated(std::span<const float> scores, std::span<const std::uint32_t> counts, std::int64_t top) {
  std::array<std::pair<float, std::int64_t>, ChunkIndex::kGroups> groups;
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g] = {scores[g], counts[g]};
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  double sum = 0;
  std::int64_t rows = 0;
  for (const auto& [score, count] : groups) {
    const std::int64_t taken = top > 0 ? std::min(count, top - rows) : count;
    sum += static_cast<double>(score) * static_cast<double>(taken);
    rows += taken;
  }
  return sum / static_cast<double>(rows);
}

// Least squares: y ≈ a + b·x, and the mean square of what is left.
struct Line {
  double a = 0, b = 1, residue = 0;
  double at(double x) const { return a + b * x; }
};

Line line_through(std::span<const std::pair<double, double>> points) {
  if (points.empty()) return {};
  const auto n = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  for (const auto& [x, y] : points) {
    mean_x += x / n;
    mean_y += y / n;
  }
  for (const auto& [x, y] : points) {
    xx += (x - mean_x) * (x - mean_x);
    xy += (x - mean_x) * (y - mean_y);
    yy += (y - mean_y) * (y - mean_y);
  }
  const double b = xx > 0 ? xy / xx : 0;
  return {mean_y - b * mean_x, b, std::max(0.0, yy - b * xy) / n};
}

}  // namespace

std::optional<Search> search_from_name(std::string_view name) {
  if (name == "auto") return Search::automatic;
  if (name == "exact") return Search::exact;
  if (name == "two-level") return Search::two_level;
  return std::nullopt;
}

bool in_two_levels(const Memory& memory, const SearchOptions& options) {
  if (options.search != Search::automatic) return options.search == Search::two_level;
  const std::int64_t pays = kPays * (options.keep + options.sample) * memory.layout().K;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l)
    if (memory.long_term().size(l) > pays) return true;
  return false;
}

TwoLevelSearch::TwoLevelSearch(kernels::Context& context, const Memory& memory,
                               std::span<const LayerQueries> scout, const VoteOptions& vote,
                               std::span<const LayerScores> recent)
    : context_(context),
      memory_(memory),
      scout_(scout),
      vote_(vote),
      recent_(recent),
      index_(memory.long_term().chunk_index(context, memory.layout())),
      slots_(memory.layout().K, memory.updates() - 1),
      layers_(static_cast<std::size_t>(memory.layout().layers)) {
  // Files that back a segment since the index was made: throws if one is damaged.
  for (const SegmentUse& use : memory.long_term().segments())
    for (std::size_t l = 0; l < layers_.size(); ++l)
      use.segment->touch(static_cast<std::int64_t>(l), SegmentPart::retriever_keys);
  find_chunks();
  estimate();
  std::vector<std::size_t> recent_slots;
  for (const LayerScores& layer : recent_)
    for_rows(layer, [&](std::int64_t, std::int64_t birth, float) {
      recent_slots.push_back(slots_.of_birth(birth));
    });
  std::sort(recent_slots.begin(), recent_slots.end());
  recent_slots.erase(std::unique(recent_slots.begin(), recent_slots.end()), recent_slots.end());
  score(recent_slots);
}

void TwoLevelSearch::find_chunks() {
  const std::int64_t K = memory_.layout().K;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    std::vector<std::int64_t> births;
    for (const auto& [place, block] : index_->blocks(static_cast<std::int64_t>(l)))
      for (const std::int64_t chunk : block->chunks) births.push_back(chunk * K);
    slots_.add(births);
  }
  for (const LayerScores& layer : recent_)
    for (const ScorePiece& piece : layer.pieces) slots_.add(piece.births);
  scored_.assign(slots_.size(), false);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].places.resize(slots_.size());
    layers_[l].estimate.assign(slots_.size(), kNone);
    if (!takes_part(l)) continue;
    for (const auto& [place, block] : index_->blocks(static_cast<std::int64_t>(l)))
      for (std::size_t c = 0; c < block->chunks.size(); ++c)
        layers_[l].places[slots_.of_chunk(block->chunks[c])] = {block.get(), c};
  }
}

void TwoLevelSearch::estimate() {
  constexpr auto kGroups = static_cast<std::size_t>(ChunkIndex::kGroups);
  const Layout& layout = memory_.layout();
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (!takes_part(l)) continue;
    const ChunkIndex::Blocks& blocks = index_->blocks(static_cast<std::int64_t>(l));
    std::vector<float> scores(slots_.size() * kGroups, 0.0f);
    std::vector<kernels::KeyBlock> keys;
    float* next = scores.data();
    for (const auto& [place, block] : blocks) {
      keys.push_back({block->means.data(), next, std::ssize(block->counts)});
      next += block->counts.size();
    }
    if (!scout_.empty())
      kernels::retrieval_scores(context_, keys, scout_[l].retriever, scout_[l].T, layout.dtype,
                                layout.retriever);
    const float* score = scores.data();
    for (const auto& [place, block] : blocks)
      for (std::size_t c = 0; c < block->chunks.size(); ++c, score += kGroups)
        layers_[l].estimate[slots_.of_chunk(block->chunks[c])] =
            estimated({score, kGroups}, std::span(block->counts).subspan(c * kGroups, kGroups), vote_.top);
  }
}

// The rows of these chunks in one layer, and where their keys are.
void TwoLevelSearch::gather(Layer& layer, std::int64_t number, std::span<const std::size_t> slots,
                            std::vector<const std::byte*>& keys) const {
  RowCursor cursor(memory_.long_term(), number);
  for (const std::size_t slot : slots) {
    const auto& [block, chunk] = layer.places[slot];
    if (block == nullptr) continue;
    for (const std::uint32_t offset : block->rows_of(chunk)) {
      const bool there = cursor.seek(block->first_ordinal + offset);
      MPLUS_CHECK(there, "layer {}: row {} + {} is not in the store", number, block->first_ordinal, offset);
      layer.ids.push_back(cursor.id());
      layer.births.push_back(cursor.birth());
      keys.push_back(cursor.key(memory_.layout()));
    }
  }
}

void TwoLevelSearch::score(std::span<const std::size_t> slots) {
  if (slots.empty()) return;
  for (const std::size_t slot : slots) scored_[slot] = true;
  std::vector<std::vector<const std::byte*>> keys(layers_.size());
  context_.pool().run(std::ssize(layers_), [&](std::int64_t l, int) {
    const auto at = static_cast<std::size_t>(l);
    gather(layers_[at], l, slots, keys[at]);
  });
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    const std::size_t before = layer.values.size();
    layer.values.resize(before + keys[l].size(), 0.0f);
    if (!scout_.empty() && !keys[l].empty())
      kernels::retrieval_scores(context_, keys[l], layer.values.data() + before, scout_[l].retriever,
                                scout_[l].T, memory_.layout().dtype, memory_.layout().retriever);
  }
}

void TwoLevelSearch::take_sample(std::int64_t chunks) {
  std::vector<std::size_t> open;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (!scored_[slot] && std::any_of(layers_.begin(), layers_.end(),
                                      [&](const Layer& layer) { return layer.places[slot].block; }))
      open.push_back(slot);
  const std::size_t n = std::min(static_cast<std::size_t>(std::max<std::int64_t>(0, chunks)), open.size());
  for (std::size_t i = 0; i < n; ++i) sample_.push_back(open[i * open.size() / n]);
  score(sample_);
}

// Slots not scored yet, oldest first: their rows lie in that order, more or less.
std::vector<std::size_t> TwoLevelSearch::best(const Order& order, std::int64_t chunks) const {
  std::vector<std::size_t> taken;
  std::vector<std::int64_t> rows(layers_.size(), 0);
  std::int64_t short_of_rows = std::ssize(layers_);
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
    if (!scored_[slot]) taken.push_back(slot);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

void TwoLevelSearch::run(const SearchOptions& options, const Order& order) {
  take_sample(options.sample);
  score(best(order, options.keep));
}

TwoLevelSearch::Standardised TwoLevelSearch::standardised(std::size_t l) const {
  const Layer& layer = layers_[l];
  LayerScores known(layer.births, layer.values);
  if (!recent_.empty())
    known.pieces.insert(known.pieces.end(), recent_[l].pieces.begin(), recent_[l].pieces.end());
  Standardised result{.z = chunk_scores(known, slots_, vote_.top), .residue = {}};
  std::vector<std::pair<double, double>> points;
  for (const std::size_t slot : sample_)
    if (!std::isnan(layer.estimate[slot])) points.emplace_back(layer.estimate[slot], result.z[slot]);
  const Line line = line_through(points);
  double estimates = 0, chunks = 0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const bool only_estimated = !scored_[slot] && !std::isnan(layer.estimate[slot]);
    if (only_estimated) result.z[slot] = line.at(layer.estimate[slot]);
    estimates += only_estimated ? 1 : 0;
    chunks += std::isnan(result.z[slot]) ? 0 : 1;
  }
  const double missing = chunks > 0 ? line.residue * estimates / chunks : 0;
  const double sd = spread_of(result.z, missing).sd + 1e-6;
  for (const std::size_t slot : sample_) {
    const double left = std::isnan(layer.estimate[slot]) ? 0 : result.z[slot] - line.at(layer.estimate[slot]);
    result.residue.push_back(left / sd);
  }
  standardise(result.z, missing);
  return result;
}

Votes TwoLevelSearch::votes() const {
  std::vector<std::vector<double>> z(layers_.size()), residue(layers_.size());
  context_.pool().run(std::ssize(layers_), [&](std::int64_t l, int) {
    const auto at = static_cast<std::size_t>(l);
    Standardised layer = standardised(at);
    z[at] = std::move(layer.z);
    residue[at] = std::move(layer.residue);
  });
  Votes votes = weighted_votes(slots_, std::move(z), vote_);
  double total_weight = 0;
  std::vector<double> left(sample_.size(), 0.0);  // of the sample's votes
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const double weight = vote_.layer_weights.empty() ? 1.0 : vote_.layer_weights[l];
    total_weight += weight;
    for (std::size_t i = 0; i < left.size(); ++i) left[i] += weight * residue[l][i];
  }
  double squares = 0, estimates = 0, chunks = 0;
  for (const double x : left) squares += x * x;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    chunks += votes.held[slot] ? 1 : 0;
    estimates += votes.held[slot] && !scored_[slot] ? 1 : 0;
  }
  if (estimates > 0 && !left.empty() && total_weight > 0)
    votes.missing_variance =
        squares / static_cast<double>(left.size()) / (total_weight * total_weight) * estimates / chunks;
  return votes;
}

Votes vote_in_two_levels(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
                         const VoteOptions& vote, const SearchOptions& search,
                         const TwoLevelSearch::Order& order) {
  std::vector<ScoredRows> recent(scout.size());
  std::vector<LayerScores> views(scout.size());
  for (std::size_t l = 0; l < scout.size(); ++l) {
    recent[l] = score_short_term(context, memory, static_cast<std::int64_t>(l), scout[l]);
    views[l] = recent[l].scores;
  }
  TwoLevelSearch found(context, memory, scout, vote, views);
  found.run(search, order);
  return found.votes();
}

}  // namespace mplus::memory
