// The scores of a search in two levels: of every chunk by its groups' mean keys, and of all rows of some
// chunks.
#include <algorithm>
#include <array>
#include <cmath>

#include "mplus/core/error.h"
#include "mplus/kernels/parallel.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "mplus/memory/recall/chunk_scores.h"
#include "mplus/memory/recall/search/search.h"

namespace mplus::memory {
namespace {

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

}  // namespace

void TwoLevelSearch::estimate() {
  constexpr auto kGroups = static_cast<std::size_t>(ChunkIndex::kGroups);
  const Layout& layout = memory_.layout();
  std::vector<std::vector<float>> scores(layers_.size());
  const DType dtype = layout.long_term == RowFormat::plain ? layout.dtype : DType::i8;
  std::vector<kernels::KeyBlock> keys;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (!takes_part(l)) continue;
    scores[l].resize(slots_.size() * kGroups, 0.0f);
    keys.clear();
    float* next = scores[l].data();
    for (const auto& [place, block] : index_->blocks(static_cast<std::int64_t>(l))) {
      const auto n = std::ssize(block->counts);
      keys.push_back(
          {kernels::key_tensor(block->means.data(), dtype, n, layout.retriever), {next, DType::f32, {n}}});
      next += block->counts.size();
    }
    if (!scout_.empty()) kernels::retrieval_scores(queue_, keys, scout_[l].retriever_rows(layout.retriever));
  }
  queue_.pool().run(std::ssize(layers_), [&](std::int64_t number, int) {
    const auto l = static_cast<std::size_t>(number);
    if (!takes_part(l)) return;
    const float* score = scores[l].data();
    for (const auto& [place, block] : index_->blocks(number))
      for (std::size_t c = 0; c < block->chunks.size(); ++c, score += kGroups)
        layers_[l].estimate[slots_.of_chunk(block->chunks[c])] =
            estimated({score, kGroups}, std::span(block->counts).subspan(c * kGroups, kGroups), vote_.top);
  });
}

TwoLevelSearch::Keys TwoLevelSearch::keys_of(std::int64_t layer, std::span<const std::size_t> slots) const {
  Keys keys;
  RowCursor cursor(memory_.long_term(), layer);
  for (const std::size_t slot : slots) {
    const auto& [block, chunk] = layers_[static_cast<std::size_t>(layer)].places[slot];
    if (block == nullptr) continue;
    for (const std::uint32_t offset : block->rows_of(chunk)) {
      const bool there = cursor.seek(block->first_ordinal + offset);
      MPLUS_CHECK(there, "layer {}: row {} + {} is not in the store", layer, block->first_ordinal, offset);
      const bool small = cursor.format() != RowFormat::plain;
      (small ? keys.small : keys.plain).push_back({cursor.id().segment, cursor.id().row});
      keys.is_small.push_back(small);
    }
  }
  return keys;
}

void TwoLevelSearch::score_keys(std::size_t l, const Keys& keys, float* scores) const {
  std::vector<ConstTensor> blocks;
  for (const SegmentUse& use : memory_.long_term().segments())
    blocks.push_back(key_rows(use.rows(static_cast<std::int64_t>(l)), memory_.layout()));
  const auto run = [&](std::span<const kernels::RowPlace> places, float* to) {
    kernels::retrieval_scores(queue_, {to, DType::f32, {std::ssize(places)}},
                              scout_[l].retriever_rows(memory_.layout().retriever), {blocks, places});
  };
  if (keys.small.empty()) return run(keys.plain, scores);
  if (keys.plain.empty()) return run(keys.small, scores);
  std::vector<float> plain(keys.plain.size()), small(keys.small.size());
  run(keys.plain, plain.data());
  run(keys.small, small.data());
  auto next_plain = plain.begin(), next_small = small.begin();
  for (const bool is_small : keys.is_small) *scores++ = is_small ? *next_small++ : *next_plain++;
}

double TwoLevelSearch::chunk_score(const Layer& layer, std::size_t slot) const {
  std::vector<float> scores;
  if (const auto& [block, chunk] = layer.places[slot]; block) {
    const auto first = layer.scores.begin() + static_cast<std::ptrdiff_t>(layer.values[slot]);
    scores.assign(first, first + std::ssize(block->rows_of(chunk)));
  }
  for (const RecentRow& row : recent_of(layer, slot)) scores.push_back(row.score);
  return mean_score(scores, vote_.top);
}

std::span<const TwoLevelSearch::RecentRow> TwoLevelSearch::recent_of(const Layer& layer, std::size_t slot) {
  const auto rows = std::equal_range(layer.recent.begin(), layer.recent.end(), RecentRow{.slot = slot},
                                     [](const RecentRow& a, const RecentRow& b) { return a.slot < b.slot; });
  return {rows.first, rows.second};
}

void TwoLevelSearch::score(std::vector<std::vector<std::size_t>> slots) {
  std::vector<Keys> keys(layers_.size());
  queue_.pool().run(std::ssize(layers_), [&](std::int64_t number, int) {
    const auto l = static_cast<std::size_t>(number);
    std::erase_if(slots[l], [&](std::size_t slot) { return !std::isnan(layers_[l].exact[slot]); });
    std::sort(slots[l].begin(), slots[l].end());  // oldest first: rows lie in that order, more or less
    keys[l] = keys_of(number, slots[l]);
  });
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    const std::size_t before = layer.scores.size();
    layer.scores.resize(before + keys[l].size(), 0.0f);
    if (!scout_.empty() && keys[l].size() > 0) score_keys(l, keys[l], layer.scores.data() + before);
  }
  queue_.pool().run(std::ssize(layers_), [&](std::int64_t number, int) {
    const auto l = static_cast<std::size_t>(number);
    Layer& layer = layers_[l];
    std::size_t next = layer.scores.size() - keys[l].size();
    for (const std::size_t slot : slots[l]) {
      layer.values[slot] = next;
      if (const auto& [block, chunk] = layer.places[slot]; block) next += block->rows_of(chunk).size();
      layer.exact[slot] = chunk_score(layer, slot);
    }
  });
}

// Other rows that take part: their chunks are scored first, with all rows they have.
void TwoLevelSearch::score_recent(std::span<const LayerScores> recent) {
  std::vector<std::size_t> slots;
  for (std::size_t l = 0; l < recent.size(); ++l) {
    for_rows(recent[l], [&](std::int64_t, std::int64_t birth, float score) {
      layers_[l].recent.push_back({slots_.of_birth(birth), birth, score});
      slots.push_back(slots_.of_birth(birth));
    });
    std::stable_sort(layers_[l].recent.begin(), layers_[l].recent.end(),
                     [](const RecentRow& a, const RecentRow& b) { return a.slot < b.slot; });
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  choose(slots, every_layer());
}

std::vector<RecalledRow> TwoLevelSearch::rows(std::int64_t number, std::span<const std::int64_t> chunk_order,
                                              std::vector<std::int64_t>* recent) const {
  const Layer& layer = layers_[static_cast<std::size_t>(number)];
  const std::int64_t K0 = memory_.layout().K0;
  std::vector<RowId> ids;
  std::vector<std::int64_t> births, recent_births;
  std::vector<float> scores, recent_scores;
  RowCursor cursor(memory_.long_term(), number);
  for (const std::int64_t chunk : chunk_order) {
    if (std::ssize(ids) + std::ssize(recent_births) >= K0) break;
    if (!slots_.contains(chunk)) continue;  // given from outside, and nothing is left of it
    const std::size_t slot = slots_.of_chunk(chunk);
    for (const RecentRow& row : recent_of(layer, slot)) {
      recent_births.push_back(row.birth);
      recent_scores.push_back(row.score);
    }
    const auto& [block, at] = layer.places[slot];
    if (!block || std::isnan(layer.exact[slot])) continue;
    std::size_t value = layer.values[slot];
    for (const std::uint32_t offset : block->rows_of(at)) {
      cursor.seek(block->first_ordinal + offset);
      ids.push_back(cursor.id());
      births.push_back(cursor.birth());
      scores.push_back(layer.scores[value++]);
    }
  }
  LayerScores rows(births, scores);
  rows.pieces.push_back({recent_births, recent_scores});
  std::vector<RecalledRow> taken;
  if (recent) recent->clear();
  for (const std::int64_t row : take_by_chunk(rows, chunk_order, memory_.layout().K, K0)) {
    const auto at = static_cast<std::size_t>(row);
    if (at < ids.size()) taken.push_back({ids[at], births[at], scores[at]});
    else if (recent) recent->push_back(recent_births[at - ids.size()]);
  }
  return taken;
}

}  // namespace mplus::memory
