// The long-term store: a list of shared segments, and per layer one rising threshold below which rows have
// expired. Rows never move. A copy of the store is a fork: it shares the segments.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "mplus/kernels/queue.h"
#include "mplus/memory/oldest_rows.h"
#include "mplus/memory/rewriting.h"
#include "mplus/memory/segment.h"

namespace mplus::memory {

class ChunkIndex;

struct RowId {  // a row of one layer's store as it stands now; not kept across writes
  std::uint32_t segment = 0;
  std::uint32_t row = 0;
  friend bool operator==(const RowId&, const RowId&) = default;
  friend auto operator<=>(const RowId&, const RowId&) = default;
};

class LongTermStore {
 public:
  explicit LongTermStore(const Layout& layout);

  // Room in the last segment for rows that a layer's short-term slots drop; call for every layer, in any
  // order or side by side, then enforce_capacity. Their values are the caller's to put there (Segment::put),
  // from the row on that append returns.
  void begin_append(const Layout& layout, std::int64_t most_rows);
  std::int64_t append(std::int64_t layer, std::span<const std::int64_t> births);
  // While a layer holds more than M rows, its oldest goes. Returns segments that nobody living is in: giving
  // their memory back takes a while.
  std::vector<SegmentUse> enforce_capacity(const Layout& layout);
  // Before n rows come to a layer: finds those that will go. Layers may be asked for side by side.
  void get_ready(const Layout& layout, std::int64_t layer, std::int64_t n);

  void adopt(std::shared_ptr<Segment> segment, const std::vector<std::int64_t>& rows);  // loading
  void set_expiry(std::int64_t layer, Expiry expiry);
  // A layer's threshold for a store that is loaded from the segments as they are now.
  Expiry loaded_expiry(std::int64_t layer) const;

  // The living rows [begin, begin + most) of segments [first, first + count), copied together, layer by
  // layer. The segments must keep them in the same format.
  std::vector<Rows> gather(const Layout& layout, std::size_t first, std::size_t count, std::int64_t begin,
                           std::int64_t most) const;
  // Puts segments with exactly the living rows of [first, first + count) in their place: what a file keeps
  // now, or what was left of them.
  struct Replacement {
    std::shared_ptr<Segment> segment;
    std::vector<std::int64_t> rows;  // [L]
  };
  void replace(std::size_t first, std::size_t count, std::vector<Replacement> by);

  // Rows of these chunks leave, or others take their place; the segments that held any are made anew, also
  // where they had expired.
  void rewrite(const Layout& layout, const Rewriting& chunks);
  struct ChunkCount {
    std::int64_t rows = 0;      // living ones of these chunks, over all layers
    std::int64_t segments = 0;  // that hold rows of them, also expired ones
  };
  ChunkCount count(const Layout& layout, const std::set<std::int64_t>& chunks) const;

  std::int64_t size(std::int64_t layer) const { return alive_[static_cast<std::size_t>(layer)]; }
  const std::vector<SegmentUse>& segments() const { return segments_; }
  const Expiry& expiry(std::int64_t layer) const { return expiry_[static_cast<std::size_t>(layer)]; }
  // Every row's number in the life of the store is below this.
  std::int64_t end_ordinal(std::int64_t layer) const {
    return next_ordinal_[static_cast<std::size_t>(layer)];
  }

  // The first level of a search (chunk_index.h), made when first asked for and then brought up to date. Forks
  // that have not been written to share it. Safe from many threads as long as nobody writes.
  std::shared_ptr<const ChunkIndex> chunk_index(kernels::Queue& queue, const Layout& layout) const;

  bool alive(std::int64_t layer, const SegmentUse& use, std::int64_t row) const {
    const auto l = static_cast<std::size_t>(layer);
    const std::int64_t birth = use.segment->rows(layer).birth[row];
    return Expiry{birth, use.first_ordinal[l] + row} >= expiry_[l];
  }
  std::int64_t birth(std::int64_t layer, RowId id) const {
    return segments_[id.segment].rows(layer).birth[id.row];
  }
  RowsView rows_of(std::int64_t layer, RowId id) const {  // to be read: damage in a file is noticed here
    segments_[id.segment].segment->touch(layer, SegmentPart::keys_and_values);
    return segments_[id.segment].rows(layer);
  }

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
  template <class Touches>
  bool holds(const Layout& layout, const SegmentUse& use, Touches&& touches) const;
  Replacement rewritten(const Layout& layout, const SegmentUse& use, const Rewriting& chunks);
  OldestRows& oldest(std::int64_t layer, std::int64_t n);  // at least n of them, and no fork's
  std::vector<SegmentUse> release_expired_segments();
  void renumbered();  // rows came or got other numbers: what was known of the oldest is not true any more
  void own_index();   // before a write: what forks see stays as it is
  void drop_index();  // where rows got other numbers

  // An index of this store, now or at an earlier time since when rows were only added or have expired.
  struct IndexCell {
    std::mutex mutex;
    std::shared_ptr<const ChunkIndex> index;
  };

  std::vector<SegmentUse> segments_;
  std::vector<Expiry> expiry_;                       // [L]
  std::vector<std::int64_t> alive_;                  // [L]
  std::vector<std::int64_t> next_ordinal_;           // [L]
  std::vector<std::shared_ptr<OldestRows>> oldest_;  // [L]; copied before a change if a fork shares them
  std::shared_ptr<IndexCell> index_ = std::make_shared<IndexCell>();
};

// Finds rows of one layer by their number in the life of the store; neighbours are found without a search.
class RowCursor {
 public:
  RowCursor(const LongTermStore& store, std::int64_t layer) : store_(store), layer_(layer) {}

  bool seek(std::int64_t ordinal);  // false: its segment is gone
  RowId id() const { return {segment_, static_cast<std::uint32_t>(row_)}; }
  std::int64_t birth() const { return rows_.birth[row_]; }
  RowFormat format() const { return rows_.format; }
  void expand_key(const Layout& layout, float* out) const { rows_.expand_key(layout, out, row_); }

 private:
  const LongTermStore& store_;
  std::int64_t layer_;
  std::uint32_t segment_ = 0;
  std::int64_t first_ = 0;  // number of the segment's first row
  std::int64_t row_ = 0;
  RowsView rows_;
};

}  // namespace mplus::memory
