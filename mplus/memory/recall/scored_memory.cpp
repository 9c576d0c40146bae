#include "mplus/memory/recall/scored_memory.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/retrieval/chunk_sums.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "mplus/kernels/rows/outgoing.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/memory/recall/chunk_scores.h"
#include "mplus/memory/recall/search/stored_keys.h"

namespace mplus::memory {
namespace {

// What is made of one layer on the device.
struct OnDevice {
  bool asked = false;
  Tensor long_term, short_term;  // [n] scores
  NearQueries q;
  StoredKeys stored;
  Tensor sums, rows;
};

class Scoring {
 public:
  Scoring(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
          const ScoreOptions& options)
      : queue_(queue), memory_(memory), scout_(scout), options_(options), layers_(scout.size()) {}

  // False: the device has no room.
  bool run() {
    make_room();
    if (!fits()) return false;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      OnDevice& layer = layers_[l];
      if (!layer.asked) continue;
      auto stored = bring_keys(queue_, memory_, static_cast<std::int64_t>(l), layer.long_term);
      if (!stored) return false;
      layer.stored = std::move(*stored);
      layer.q = NearQueries(queue_, scout_[l], memory_.layout().retriever);
      if (options_.short_term && !bring_short_term(l)) return false;
    }
    for (const auto blocks : {&StoredKeys::plain, &StoredKeys::small}) {
      std::vector<kernels::QueryKeys> keys;
      for (const OnDevice& layer : layers_)
        if (!(layer.stored.*blocks).empty()) keys.push_back({layer.q.tensor(), layer.stored.*blocks});
      kernels::retrieval_scores(queue_, keys);
    }
    std::vector<kernels::ChunkSums> sums;
    for (const OnDevice& layer : layers_)
      if (layer.asked) sums.push_back({layer.stored.parts, layer.sums, layer.rows});
    kernels::chunk_sums(queue_, sums,
                        {.K = memory_.layout().K, .chunks = memory_.updates(), .top = options_.top});
    room_.bring(queue_);
    queue_.wait();
    return true;
  }

  ScoredMemory result() const {
    ScoredMemory scored;
    scored.long_term.resize(layers_.size());
    scored.short_term.resize(options_.short_term ? layers_.size() : 0);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (!layers_[l].asked) continue;
      const auto layer = static_cast<std::int64_t>(l);
      ScoredRows& older = scored.long_term[l] = views(layers_[l].long_term);
      older.scores.pieces = long_term_pieces(memory_, layer, older.values.get());
      if (!options_.short_term) continue;
      scored.short_term[l] = list_short_term(memory_, layer);
      const RowsView rows = memory_.short_term(layer);
      const float* by_slot = room_.on_host(layers_[l].short_term).on_host<float>();
      for (std::int64_t r = 0; r < rows.n; ++r) scored.short_term[l].values[r] = by_slot[rows.slot(r)];
    }
    scored.chunks = chunks();
    return scored;
  }

 private:
  // All layers, or none: keys that the device had for nothing would take the place of others.
  bool fits() const {
    std::size_t spare = device_budget().spare();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (!layers_[l].asked) continue;
      const auto number = static_cast<std::int64_t>(l);
      const std::size_t slots =
          options_.short_term ? memory_.resident(number).room(queue_, memory_.layout()) : 0;
      if (slots > spare) return false;
      spare -= slots;
      if (!keys_fit(queue_, memory_, number, spare)) return false;
    }
    return true;
  }

  std::int64_t slots_of(std::int64_t layer) const {
    const RowsView rows = memory_.short_term(layer);
    return rows.slots ? memory_.layout().N : rows.n;
  }

  void make_room() {
    std::size_t size_bytes = 0;
    const auto add = [&](DType type, std::int64_t n) {
      size_bytes += kernels::Outgoing::piece_bytes(type, n);
    };
    const std::int64_t chunks = memory_.updates();
    for (std::int64_t l = 0; l < std::ssize(layers_); ++l) {
      const LayerQueries& queries = scout_[static_cast<std::size_t>(l)];
      bool& asked = layers_[static_cast<std::size_t>(l)].asked;
      asked = queries.retriever != nullptr && queries.T > 0;
      if (!asked) continue;
      add(DType::f32, stored_rows(memory_, l));
      if (options_.short_term) add(DType::f32, slots_of(l));
      add(DType::i64, chunks);
      add(DType::i64, chunks + 1);
    }
    room_.begin(queue_, queue_.host_pool(), size_bytes);
    for (std::int64_t l = 0; l < std::ssize(layers_); ++l) {
      OnDevice& layer = layers_[static_cast<std::size_t>(l)];
      if (!layer.asked) continue;
      layer.long_term = room_.piece(DType::f32, {stored_rows(memory_, l)});
      if (options_.short_term) layer.short_term = room_.piece(DType::f32, {slots_of(l)});
      layer.sums = room_.piece(DType::i64, {chunks});
      layer.rows = room_.piece(DType::i64, {chunks + 1});
    }
  }

  // By slots, as their keys lie there; false: there is no room.
  bool bring_short_term(std::size_t l) {
    OnDevice& layer = layers_[l];
    const auto number = static_cast<std::int64_t>(l);
    const RowsView rows = memory_.short_term(number);
    if (rows.n == 0) return true;
    if (!memory_.resident(number).bring(queue_, memory_.layout(), rows)) return false;
    layer.stored.plain.push_back(
        {memory_.resident(number).keys().rows(0, layer.short_term.elements()), layer.short_term});
    std::vector<std::int64_t> births(static_cast<std::size_t>(layer.short_term.elements()),
                                     kernels::kNoBirth);
    for (std::int64_t r = 0; r < rows.n; ++r) births[static_cast<std::size_t>(rows.slot(r))] = rows.birth[r];
    births_.emplace_back(queue_, ConstTensor(births.data(), DType::i64, {std::ssize(births)}));
    layer.stored.parts.push_back({.scores = layer.short_term, .births = births_.back().tensor()});
    return true;
  }

  // Scores that were brought; `like`: on the device.
  ScoredRows views(const Tensor& like) const {
    ScoredRows rows;
    const ConstTensor here = room_.on_host(like);
    // The host's side is nobody else's from here on.
    auto* values =
        const_cast<float*>(here.on_host<float>());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    rows.values = std::shared_ptr<float[]>(room_.host_memory(), values);
    return rows;
  }

  std::vector<std::vector<double>> chunks() const {
    const auto count = static_cast<std::size_t>(memory_.updates());
    std::vector<std::vector<double>> scores(
        layers_.size(), std::vector<double>(count, std::numeric_limits<double>::quiet_NaN()));
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (!layers_[l].asked) continue;
      const auto* sums = room_.on_host(layers_[l].sums).on_host<std::int64_t>();
      const auto* rows = room_.on_host(layers_[l].rows).on_host<std::int64_t>();
      if (rows[count] > 0) return {};
      for (std::size_t c = 0; c < count; ++c)
        if (rows[c] > 0) scores[l][c] = kernels::mean_of_units(sums[c], rows[c]);
    }
    return scores;
  }

  kernels::Queue& queue_;
  const Memory& memory_;
  std::span<const LayerQueries> scout_;
  ScoreOptions options_;
  std::vector<OnDevice> layers_;
  std::vector<kernels::OnDevice> births_;  // of short-term rows
  kernels::Outgoing room_;
};

}  // namespace

std::optional<ScoredMemory> score_on_device(kernels::Queue& queue, const Memory& memory,
                                            std::span<const LayerQueries> scout,
                                            const ScoreOptions& options) {
  if (queue.device().is_cpu()) return std::nullopt;
  Scoring scoring(queue, memory, scout, options);
  if (!scoring.run()) return std::nullopt;
  return scoring.result();
}

Votes vote_of_chunks(const Memory& memory, std::vector<std::vector<double>> chunks,
                     const VoteOptions& options) {
  for (std::vector<double>& layer : chunks) standardise(layer, spread_of(layer));
  return weighted_votes(ChunkSlots(memory.layout().K, memory.updates() - 1), std::move(chunks), options);
}

}  // namespace mplus::memory
