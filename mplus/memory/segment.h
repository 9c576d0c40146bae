// A segment: long-term rows of every layer that never move or change once written. Rows are only ever added
// behind the last one, by whoever claims the next epoch; everybody else keeps seeing the rows counted in
// their own SegmentUse. So forks share segments, and a file can back one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "mplus/memory/rows.h"

namespace mplus::memory {

// What a reader is about to look at: retriever keys, or keys and values.
enum class SegmentPart : std::uint8_t { retriever_keys, keys_and_values };

class Segment {
 public:
  // Called before rows that a file backs are looked at; throws if they are damaged. Safe from many threads.
  using Guard = std::function<void(std::int64_t layer, SegmentPart part)>;

  Segment(const Layout& layout, std::int64_t capacity);  // empty, may grow; rows as the layout keeps them
  Segment(std::vector<RowsView> layers, std::shared_ptr<const void> owner,
          Guard guard = {});  // complete, e.g. in a mapped file

  RowsView rows(std::int64_t layer) const { return views_[static_cast<std::size_t>(layer)]; }
  void touch(std::int64_t layer, SegmentPart part) const {
    if (guard_) guard_(layer, part);
  }
  std::int64_t capacity() const { return capacity_; }  // 0: complete
  // Values of a row that was added to a layer without them.
  void put(const Layout& layout, std::int64_t layer, std::int64_t row, const RowsView& from,
           std::int64_t from_row) {
    grown_[static_cast<std::size_t>(layer)].put(layout, row, from, from_row);
  }
  // Of a layer's retriever keys; for the engine's thread alone.
  ResidentKeys& resident_keys(std::int64_t layer) const;
  ResidentColumns& resident_columns(std::int64_t layer) const;  // likewise, of its keys and values
  RowFormat format() const { return views_.empty() ? RowFormat::plain : views_.front().format; }

 private:
  friend class LongTermStore;
  bool claim(std::uint64_t epoch) { return epoch_.compare_exchange_strong(epoch, epoch + 1); }
  // Rows behind the last one of a layer; their values may come later.
  void extend(std::int64_t layer, std::span<const std::int64_t> births) {
    grown_[static_cast<std::size_t>(layer)].extend(births);
  }

  std::int64_t capacity_ = 0;
  std::vector<Rows> grown_;
  std::vector<RowsView>
      views_;  // columns never move, so these stay true; .n is the capacity, not the filling
  std::shared_ptr<const void> owner_;
  Guard guard_;
  std::atomic<std::uint64_t> epoch_{0};
  mutable std::vector<ResidentKeys> resident_keys_;        // [L], or empty: never asked for
  mutable std::vector<ResidentColumns> resident_columns_;  // likewise
};

// How much of a segment one memory sees.
struct SegmentUse {
  std::shared_ptr<Segment> segment;
  std::vector<std::int64_t> used;           // [L] rows
  std::vector<std::int64_t> first_ordinal;  // [L] number of the first row, counted over the life of the store
  std::uint64_t epoch = 0;
  // [L] of the smallest birth in every kBirthBlock rows: who looks for the oldest rows need not see all.
  static constexpr std::int64_t kBirthBlock = 1024;
  std::vector<std::vector<std::int64_t>> oldest = {};

  void note_births(std::int64_t layer, std::int64_t from);  // of rows [from, used)

  RowsView rows(std::int64_t layer) const {
    RowsView view = segment->rows(layer);
    view.n = used[static_cast<std::size_t>(layer)];
    return view;
  }
};

}  // namespace mplus::memory
