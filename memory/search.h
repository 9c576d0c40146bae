// Search in two levels, for stores too large to score every row (docs/recall.md). First every chunk is
// estimated, from the mean keys of its groups of rows (chunk_index.h); a sample of chunks, scored exactly,
// says how estimates relate to scores in each layer. Then the chunks that come first by estimate are scored
// exactly. Chunks that are not keep their estimate: it counts in each layer's mean and spread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mplus/memory/chunk_index.h"
#include "mplus/memory/chunk_slots.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/scores.h"
#include "mplus/memory/vote.h"

namespace mplus::memory {

enum class Search { automatic, exact, two_level };  // automatic: in two levels where that is faster

std::optional<Search> search_from_name(std::string_view name);  // auto, exact, two-level

struct SearchOptions {
  Search search = Search::automatic;
  std::int64_t keep = 1024;   // chunks scored exactly because they come first by estimate
  std::int64_t sample = 256;  // chunks scored exactly to learn from, spread evenly over all
};

bool in_two_levels(const Memory& memory, const SearchOptions& options);

class TwoLevelSearch {
 public:
  // Puts chunks in order, best first: the rule's last word, asked for estimates and for the votes in the end.
  using Order = std::function<std::vector<std::int64_t>(const Votes& votes)>;

  // `scout`: of every layer, or empty: then every row scores 0. `recent`: scores of other rows that take part
  // ([L], short-term rows), or empty; what chunks they belong to is scored exactly.
  TwoLevelSearch(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
                 const VoteOptions& vote, std::span<const LayerScores> recent = {});

  // What is scored in the end: the options' chunks, and as many more as it takes for K0 rows in every layer.
  void run(const SearchOptions& options, const Order& order);

  Votes votes() const;  // of every chunk, from what has been scored by now
  // Long-term rows that were scored, and which row a number means.
  ScorePiece scores(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)].scores(); }
  RowId id(std::int64_t layer, std::int64_t row) const {
    return layers_[static_cast<std::size_t>(layer)].ids[static_cast<std::size_t>(row)];
  }

 private:
  struct Place {  // of a chunk in a layer's index
    const ChunkIndex::Block* block = nullptr;
    std::size_t chunk = 0;
  };
  struct Layer {
    std::vector<Place> places;     // by slot
    std::vector<double> estimate;  // by slot; NaN where the layer has no such chunk
    std::vector<RowId> ids;
    std::vector<std::int64_t> births;
    std::vector<float> values;
    ScorePiece scores() const { return {births, values}; }
  };

  struct Standardised {           // scores of one layer's chunks
    std::vector<double> z;        // by slot
    std::vector<double> residue;  // of the sample: what the estimate left out
  };

  bool takes_part(std::size_t layer) const { return scout_.empty() || scout_[layer].retriever != nullptr; }
  void find_chunks();
  void estimate();
  void take_sample(std::int64_t chunks);
  void score(std::span<const std::size_t> slots);
  void gather(Layer& layer, std::int64_t number, std::span<const std::size_t> slots,
              std::vector<const std::byte*>& keys) const;
  std::vector<std::size_t> best(const Order& order, std::int64_t chunks) const;
  Standardised standardised(std::size_t layer) const;

  kernels::Context& context_;
  const Memory& memory_;
  std::span<const LayerQueries> scout_;
  VoteOptions vote_;
  std::span<const LayerScores> recent_;
  std::shared_ptr<const ChunkIndex> index_;
  ChunkSlots slots_;
  std::vector<Layer> layers_;
  std::vector<bool> scored_;         // by slot
  std::vector<std::size_t> sample_;  // slots
};

// The vote over short- and long-term rows together (vote_over_everything), in two levels.
Votes vote_in_two_levels(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
                         const VoteOptions& vote, const SearchOptions& search,
                         const TwoLevelSearch::Order& order);

}  // namespace mplus::memory
