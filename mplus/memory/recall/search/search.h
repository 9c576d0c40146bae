// Search in two levels, for stores too large to score every row (docs/recall.md). First every chunk is
// estimated, from the mean keys of its groups of rows (chunk_index.h); a sample of chunks, scored exactly,
// says how estimates relate to scores in each layer. Then the chunks that come first by estimate are scored
// exactly, in the layers whose estimates leave most of the vote open; of these the best ones in all layers.
// What is not scored keeps its estimate: it counts in each layer's mean and spread. The spreads weigh the
// layers against each other, so the sample grows where they are known worst.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mplus/core/recall_policy.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/chunk_slots.h"
#include "mplus/memory/recall/scores.h"
#include "mplus/memory/recall/search/chunk_index.h"
#include "mplus/memory/recall/search/estimate_fit.h"
#include "mplus/memory/recall/vote.h"

namespace mplus::memory {

bool in_two_levels(const kernels::Queue& queue, const Memory& memory, const SearchOptions& options);

class TwoLevelSearch {
 public:
  // Puts chunks in order, best first: the rule's last word, asked for estimates and for the votes in the end.
  using Order = std::function<std::vector<std::int64_t>(const Votes& votes)>;

  // `scout`: of every layer, or empty: then every row scores 0. `recent`: scores of other rows that take part
  // ([L], short-term rows), or empty; what chunks they belong to is scored exactly.
  TwoLevelSearch(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
                 const VoteOptions& vote, std::span<const LayerScores> recent = {});

  // Scores what the options say, and as many chunks more as it takes for K0 rows in every layer.
  void run(const SearchOptions& options, const Order& order);

  Votes votes() const;  // of every chunk, from what has been scored by now
  // K0 rows of the first chunks of an order that were scored in this layer (take_by_chunk), by birth; recent
  // rows count among them and are left out; `recent` gets their births.
  std::vector<RecalledRow> rows(std::int64_t layer, std::span<const std::int64_t> chunk_order,
                                std::vector<std::int64_t>* recent = nullptr) const;

 private:
  struct Place {  // of a chunk in a layer's index
    const ChunkIndex::Block* block = nullptr;
    std::size_t chunk = 0;
  };
  struct RecentRow {  // one that is not in the store
    std::size_t slot = 0;
    std::int64_t birth = 0;
    float score = 0;
  };
  struct Layer {  // vectors by slot: NaN where there is nothing
    std::vector<Place> places;
    std::vector<double> estimate;
    std::vector<double> exact;        // scores, as far as they are known
    std::vector<std::size_t> values;  // of a chunk that was scored: where its long-term rows' scores begin
    std::vector<bool> chosen;         // scored for what was known of it, not as part of the sample
    std::vector<std::size_t> sample;  // slots
    std::vector<float> scores;        // of long-term rows, a chunk's in the order of its block
    std::vector<RecentRow> recent;    // by slot
  };

  bool takes_part(std::size_t layer) const { return scout_.empty() || scout_[layer].retriever != nullptr; }
  // Has rows that are searched: not where a layer keeps no memory.
  bool holds(std::size_t layer) const {
    return takes_part(layer) && memory_.long_term().size(static_cast<std::int64_t>(layer)) > 0;
  }
  std::int64_t layers_that_hold() const;
  double weight(std::size_t layer) const;
  void find_chunks(std::span<const LayerScores> recent);
  void estimate();
  void score_recent(std::span<const LayerScores> recent);
  // Slots to be scored, by layer; what is known already is left out.
  void score(std::vector<std::vector<std::size_t>> slots);
  // Retriever keys of rows in order, by how they are kept.
  struct Keys {
    std::vector<kernels::RowPlace> plain, small;  // by segment
    std::vector<bool> is_small;

    std::size_t size() const { return is_small.size(); }
  };
  Keys keys_of(std::int64_t layer, std::span<const std::size_t> slots) const;
  void score_keys(std::size_t layer, const Keys& keys, float* scores) const;
  double chunk_score(const Layer& layer, std::size_t slot) const;
  static std::span<const RecentRow> recent_of(const Layer& layer, std::size_t slot);
  void sample(std::span<const std::int64_t> chunks);
  void choose(std::span<const std::size_t> slots, std::span<const std::size_t> layers);
  void sharpen(std::int64_t chunks, const Order& order);
  std::vector<std::size_t> best(const Order& order, std::int64_t chunks) const;
  std::vector<std::size_t> every_layer() const;
  std::vector<std::size_t> layers_that_leave_most_open() const;
  std::vector<EstimateFit> fits() const;
  Votes votes(std::vector<EstimateFit> fits) const;

  kernels::Queue& queue_;
  const Memory& memory_;
  std::span<const LayerQueries> scout_;
  VoteOptions vote_;
  std::shared_ptr<const ChunkIndex> index_;
  ChunkSlots slots_;
  std::vector<Layer> layers_;
  std::vector<bool> chosen_;         // by slot: in some layer
  std::vector<std::size_t> in_all_;  // slots of the first sample whose scores are known in all layers
};

// The vote over short- and long-term rows together (vote_over_everything), in two levels.
Votes vote_in_two_levels(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
                         const VoteOptions& vote, const SearchOptions& search,
                         const TwoLevelSearch::Order& order);

}  // namespace mplus::memory
