// The first level of a search in two levels: for every chunk of a layer, where its rows are, and the mean
// retriever keys of a few groups of them. A group are neighbours by birth: memory tokens that stand side by
// side hold neighbouring text. What is in an index follows from the store's living rows alone, not from the
// way they came there. An index never changes; the next one, of a store that has grown since, shares every
// block that stayed the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "mplus/kernels/queue.h"
#include "mplus/memory/long_term.h"

namespace mplus::memory {

class ChunkIndex {
 public:
  static constexpr std::int64_t kGroups = 4;  // of a chunk's K rows; docs/recall.md has what others gave

  struct Block {                       // some neighbouring chunks of one layer
    std::vector<std::int64_t> chunks;  // ascending, those that have rows
    std::vector<std::uint32_t> begin;  // [chunks + 1] of each chunk in `rows`
    std::vector<std::uint32_t> rows;   // ordinals less `first_ordinal`, ascending in each chunk
    std::int64_t first_ordinal = 0;
    std::vector<std::uint32_t> counts;  // [chunks, kGroups] rows of each group
    std::vector<std::byte> means;       // [chunks, kGroups] keys as new rows have them; 0 in an empty group

    std::span<const std::uint32_t> rows_of(std::size_t chunk) const {
      return std::span(rows).subspan(begin[chunk], begin[chunk + 1] - begin[chunk]);
    }
    friend bool operator==(const Block&, const Block&) = default;
  };
  using Blocks = std::map<std::int64_t, std::shared_ptr<const Block>>;  // by place, hence oldest first

  // Of the store as it stands. `former`: null, or an index of the same store at an earlier time, since when
  // rows were only added or have expired.
  ChunkIndex(kernels::Queue& queue, const Layout& layout, const LongTermStore& store,
             const ChunkIndex* former);

  bool is_of(const LongTermStore& store) const;  // nothing was added, nothing has expired since
  const Blocks& blocks(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)].blocks; }
  std::size_t size_bytes() const;

  friend bool operator==(const ChunkIndex& a, const ChunkIndex& b);

 private:
  struct Layer {
    Blocks blocks;
    std::int64_t end = 0;  // rows with smaller ordinals are in
    Expiry expiry;         // and those before it are not
  };
  static Layer make_layer(const Layout& layout, const LongTermStore& store, std::int64_t layer,
                          const Layer* former);

  std::vector<Layer> layers_;
};

}  // namespace mplus::memory
