// What becomes of the rows of some chunks when a part of their text is forgotten: rows of the same births,
// made of the text that stays, or nothing. A row that has expired stays gone. The layout must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "mplus/core/tensors/buffer.h"
#include "mplus/memory/rows.h"

namespace mplus::memory {

class Rewriting {
 public:
  explicit Rewriting(const Layout& layout, const std::set<std::int64_t>& gone = {});

  // What the write pass made of the text that stays, for each layer that keeps rows, all of n ≤ K: they have
  // the highest births of the chunk's block.
  void put(std::int64_t chunk, std::span<const NewRows> layers);

  bool touches(std::int64_t birth) const { return chunks_.count(chunk_of(birth, layout_->K)) > 0; }
  struct Place {
    RowsView rows;
    std::int64_t row = 0;
  };
  // What stands in the place of a row of these chunks from now on; none: nothing does.
  std::optional<Place> instead_of(std::int64_t layer, std::int64_t birth) const;

  // Whether a row of these chunks is, bit for bit, what would come in its place.
  bool equals(std::int64_t layer, const RowsView& rows, std::int64_t row) const;

  bool has(std::int64_t chunk) const { return chunks_.count(chunk) > 0; }
  // Hidden states of a chunk, [layers that keep rows, rows(chunk), d]; kept of the newest one alone.
  std::int64_t rows(std::int64_t chunk) const;
  std::span<const float> newest_hidden() const { return newest_hidden_; }

 private:
  const Layout* layout_;
  std::map<std::int64_t, std::vector<Rows>> chunks_;  // [L]; empty: its rows go
  AlignedVector<float> newest_hidden_;
};

}  // namespace mplus::memory
