// The long-term store: a list of shared segments, and per layer one rising threshold below which rows have
// expired. Rows never move. A copy of the store is a fork: it shares the segments.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mplus/memory/segment.h"

namespace mplus::memory {

struct RowId {  // a row of one layer's store as it stands now; not kept across writes
  std::uint32_t segment = 0;
  std::uint32_t row = 0;
  friend bool operator==(const RowId&, const RowId&) = default;
  friend auto operator<=>(const RowId&, const RowId&) = default;
};

// The oldest row still there, by birth, then by ordinal (loaded births may collide).
struct Expiry {
  std::int64_t birth = std::numeric_limits<std::int64_t>::min();
  std::int64_t ordinal = 0;
  friend auto operator<=>(const Expiry&, const Expiry&) = default;
};

class LongTermStore {
 public:
  explicit LongTermStore(const Layout& layout);

  // Moves the given rows of a layer's short-term slots into the store; call for every layer, then
  // enforce_capacity.
  void begin_append(const Layout& layout, std::int64_t most_rows);
  void append(const Layout& layout, std::int64_t layer, const RowsView& from, const std::int64_t* rows,
              std::int64_t count);
  void enforce_capacity(const Layout& layout);  // while a layer holds more than M rows, its oldest goes

  void adopt(std::shared_ptr<Segment> segment, const std::vector<std::int64_t>& rows);  // loading
  void set_expiry(std::int64_t layer, Expiry expiry);

  std::int64_t size(std::int64_t layer) const { return alive_[static_cast<std::size_t>(layer)]; }
  const std::vector<SegmentUse>& segments() const { return segments_; }
  const Expiry& expiry(std::int64_t layer) const { return expiry_[static_cast<std::size_t>(layer)]; }

  bool alive(std::int64_t layer, const SegmentUse& use, std::int64_t row) const {
    const auto l = static_cast<std::size_t>(layer);
    const std::int64_t birth = use.segment->rows(layer).birth[row];
    return Expiry{birth, use.first_ordinal[l] + row} >= expiry_[l];
  }
  std::int64_t birth(std::int64_t layer, RowId id) const { return rows_of(layer, id).birth[id.row]; }
  RowsView rows_of(std::int64_t layer, RowId id) const { return segments_[id.segment].rows(layer); }

  // Calls f(RowId, birth) for every living row of a layer, in store order.
  template <class F>
  void for_each(std::int64_t layer, F&& f) const {
    for (std::uint32_t s = 0; s < segments_.size(); ++s) {
      const RowsView rows = segments_[s].rows(layer);
      for (std::int64_t r = 0; r < rows.n; ++r)
        if (alive(layer, segments_[s], r)) f(RowId{s, static_cast<std::uint32_t>(r)}, rows.birth[r]);
    }
  }

 private:
  void release_expired_segments();

  std::vector<SegmentUse> segments_;
  std::vector<Expiry> expiry_;              // [L]
  std::vector<std::int64_t> alive_;         // [L]
  std::vector<std::int64_t> next_ordinal_;  // [L]
};

}  // namespace mplus::memory
