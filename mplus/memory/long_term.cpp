#include "mplus/memory/long_term.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/memory/recall/search/chunk_index.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kSegmentRows = 1024;  // 27 MB of the default model; memory is touched as rows come

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

LongTermStore::LongTermStore(const Layout& layout)
    : expiry_(index(layout.layers)),
      alive_(index(layout.layers), 0),
      next_ordinal_(index(layout.layers), 0),
      oldest_(index(layout.layers)) {}

void LongTermStore::begin_append(const Layout& layout, std::int64_t most_rows) {
  if (most_rows == 0) return;
  own_index();
  if (!segments_.empty()) {
    SegmentUse& last = segments_.back();
    const std::int64_t used = *std::max_element(last.used.begin(), last.used.end());
    if (used + most_rows <= last.segment->capacity() && last.segment->format() == layout.long_term &&
        last.segment->claim(last.epoch)) {
      ++last.epoch;
      last.oldest.resize(last.used.size());  // so that layers may be appended to side by side
      return;
    }
  }
  const std::int64_t capacity = std::max(kSegmentRows, most_rows);
  host_budget().require(index(layout.remembering_layers() * capacity) *
                        layout.row_cost_bytes(layout.long_term));
  SegmentUse fresh{.segment = std::make_shared<Segment>(layout, capacity),
                   .used = std::vector<std::int64_t>(index(layout.layers), 0),
                   .first_ordinal = next_ordinal_,
                   .epoch = 1,
                   .oldest = std::vector<std::vector<std::int64_t>>(index(layout.layers))};
  MPLUS_CHECK(fresh.segment->claim(0), "a new segment belongs to its maker");
  segments_.push_back(std::move(fresh));
}

std::int64_t LongTermStore::append(std::int64_t layer, std::span<const std::int64_t> births) {
  const std::size_t l = index(layer);
  SegmentUse& last = segments_.back();
  const std::int64_t first = last.used[l];
  last.segment->extend(layer, births);
  last.used[l] += std::ssize(births);
  last.note_births(layer, first);
  for (const std::int64_t birth : births) {
    const Expiry row{birth, next_ordinal_[l]++};
    if (row < expiry_[l]) continue;
    ++alive_[l];
    if (oldest_[l]) oldest(layer, 0).add(row);
  }
  return first;
}

OldestRows& LongTermStore::oldest(std::int64_t layer, std::int64_t n) {
  std::shared_ptr<OldestRows>& known = oldest_[index(layer)];
  if (!known) known = std::make_shared<OldestRows>();
  if (known.use_count() > 1) known = std::make_shared<OldestRows>(*known);
  if (!known->has(n)) known->find(segments_, layer, expiry_[index(layer)], n);
  return *known;
}

void LongTermStore::get_ready(const Layout& layout, std::int64_t layer, std::int64_t n) {
  const std::int64_t excess = alive_[index(layer)] + n - layout.M;
  if (excess > 0 && excess < alive_[index(layer)]) oldest(layer, excess + 1);
}

std::vector<SegmentUse> LongTermStore::enforce_capacity(const Layout& layout) {
  bool expired = false;
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    const std::size_t l = index(layer);
    const std::int64_t excess = alive_[l] - layout.M;
    if (excess <= 0) continue;
    expiry_[l] = oldest(layer, excess + 1).drop(excess);
    alive_[l] = layout.M;
    expired = true;
  }
  return expired ? release_expired_segments() : std::vector<SegmentUse>();
}

std::vector<SegmentUse> LongTermStore::release_expired_segments() {
  const auto gone = std::stable_partition(segments_.begin(), segments_.end(), [&](const SegmentUse& use) {
    for (std::size_t l = 0; l < use.used.size(); ++l)
      for (std::int64_t r = 0; r < use.used[l]; ++r)
        if (alive(static_cast<std::int64_t>(l), use, r)) return true;
    return false;
  });
  std::vector<SegmentUse> released(std::make_move_iterator(gone), std::make_move_iterator(segments_.end()));
  segments_.erase(gone, segments_.end());
  return released;
}

void LongTermStore::renumbered() { std::fill(oldest_.begin(), oldest_.end(), nullptr); }

void LongTermStore::adopt(std::shared_ptr<Segment> segment, const std::vector<std::int64_t>& rows) {
  own_index();
  renumbered();
  segments_.push_back(
      {.segment = std::move(segment), .used = rows, .first_ordinal = next_ordinal_, .epoch = 0});
  for (std::size_t l = 0; l < rows.size(); ++l) {
    segments_.back().note_births(static_cast<std::int64_t>(l), 0);
    next_ordinal_[l] += rows[l];
    for (std::int64_t r = 0; r < rows[l]; ++r)
      if (alive(static_cast<std::int64_t>(l), segments_.back(), r)) ++alive_[l];
  }
}

void LongTermStore::set_expiry(std::int64_t layer, Expiry expiry) {
  MPLUS_CHECK(segments_.empty(), "the threshold of a loaded store is set before its rows come");
  expiry_[index(layer)] = expiry;
}

Expiry LongTermStore::loaded_expiry(std::int64_t layer) const {
  const std::size_t l = index(layer);
  const Expiry now = expiry_[l];
  std::int64_t before = 0;  // rows in front of the threshold's place: a loaded store counts from 0
  for (const SegmentUse& use : segments_)
    before += std::clamp<std::int64_t>(now.ordinal - use.first_ordinal[l], 0, use.used[l]);
  return {now.birth, before};
}

std::vector<Rows> LongTermStore::gather(const Layout& layout, std::size_t first, std::size_t count,
                                        std::int64_t begin, std::int64_t most) const {
  std::vector<Rows> gathered;
  gathered.reserve(index(layout.layers));
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    std::vector<RowId> rows;
    std::int64_t at = 0;
    for (std::size_t s = first; s < first + count; ++s)
      for (std::int64_t r = 0; r < segments_[s].used[index(layer)]; ++r)
        if (alive(layer, segments_[s], r) && at++ >= begin && at <= begin + most)
          rows.push_back({static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(r)});
    Rows& to = gathered.emplace_back(layout, static_cast<std::int64_t>(rows.size()),
                                     segments_[first].segment->format());
    for (RowId id : rows) {
      if (layout.retriever > 0) segments_[id.segment].segment->touch(layer, SegmentPart::retriever_keys);
      to.append(layout, rows_of(layer, id), id.row);
    }
  }
  return gathered;
}

void LongTermStore::replace(std::size_t first, std::size_t count, std::vector<Replacement> by) {
  MPLUS_CHECK(count > 0 && first + count <= segments_.size(), "segments {} + {} of {}", first, count,
              segments_.size());
  own_index();
  renumbered();
  // Numbered backwards from the end of what was there: no row's number falls, so none of them expires by it.
  std::vector<std::int64_t> end = segments_[first + count - 1].first_ordinal;
  for (std::size_t l = 0; l < end.size(); ++l) end[l] += segments_[first + count - 1].used[l];
  std::vector<SegmentUse> uses(by.size());
  for (std::size_t i = by.size(); i-- > 0;) {
    for (std::size_t l = 0; l < end.size(); ++l) end[l] -= by[i].rows[l];
    uses[i] = {.segment = std::move(by[i].segment), .used = std::move(by[i].rows), .first_ordinal = end};
    for (std::size_t l = 0; l < end.size(); ++l) uses[i].note_births(static_cast<std::int64_t>(l), 0);
  }
  if (end != segments_[first].first_ordinal) drop_index();
  const auto at = segments_.begin() + static_cast<std::ptrdiff_t>(first);
  segments_.insert(segments_.erase(at, at + static_cast<std::ptrdiff_t>(count)), uses.begin(), uses.end());
}

template <class Touches>
bool LongTermStore::holds(const Layout& layout, const SegmentUse& use, Touches&& touches) const {
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    const RowsView rows = use.rows(layer);
    if (std::any_of(rows.birth, rows.birth + rows.n, touches)) return true;
  }
  return false;
}

// The living rows of a segment, some of them others now.
LongTermStore::Replacement LongTermStore::rewritten(const Layout& layout, const SegmentUse& use,
                                                    const Rewriting& chunks) {
  auto left = std::make_shared<std::vector<Rows>>();
  Replacement made;
  std::vector<RowsView> views;
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    if (layout.retriever > 0) use.segment->touch(layer, SegmentPart::retriever_keys);
    use.segment->touch(layer, SegmentPart::keys_and_values);
    const RowsView rows = use.rows(layer);
    std::vector<Rewriting::Place> places;
    for (std::int64_t r = 0; r < rows.n; ++r) {
      if (!alive(layer, use, r)) continue;
      if (!chunks.touches(rows.birth[r])) {
        places.push_back({rows, r});
      } else if (const auto place = chunks.instead_of(layer, rows.birth[r])) {
        places.push_back(*place);
      } else {
        --alive_[index(layer)];
      }
    }
    Rows& to = left->emplace_back(layout, std::ssize(places), use.segment->format());
    for (const auto& [from, row] : places) to.append(layout, from, row);
    made.rows.push_back(to.size());
    views.push_back(to.view());
  }
  made.segment = std::make_shared<Segment>(std::move(views), std::move(left));
  return made;
}

void LongTermStore::rewrite(const Layout& layout, const Rewriting& chunks) {
  bool changed = false;
  for (std::size_t s = segments_.size(); s-- > 0;) {
    if (!holds(layout, segments_[s], [&](std::int64_t birth) { return chunks.touches(birth); })) continue;
    std::vector<Replacement> by;
    by.push_back(rewritten(layout, segments_[s], chunks));
    const std::vector<std::int64_t>& rows = by.front().rows;
    if (std::all_of(rows.begin(), rows.end(), [](std::int64_t n) { return n == 0; })) by.clear();
    replace(s, 1, std::move(by));
    changed = true;
  }
  if (changed) drop_index();  // also where no row got another number: keys are others
}

LongTermStore::ChunkCount LongTermStore::count(const Layout& layout,
                                               const std::set<std::int64_t>& chunks) const {
  ChunkCount counted;
  const auto among = [&](std::int64_t birth) { return chunks.count(chunk_of(birth, layout.K)) > 0; };
  for (const SegmentUse& use : segments_) {
    if (!holds(layout, use, among)) continue;
    ++counted.segments;
    for (std::int64_t layer = 0; layer < layout.layers; ++layer)
      for (std::int64_t r = 0; r < use.used[index(layer)]; ++r)
        if (alive(layer, use, r) && among(use.segment->rows(layer).birth[r])) ++counted.rows;
  }
  return counted;
}

std::shared_ptr<const ChunkIndex> LongTermStore::chunk_index(kernels::Queue& queue,
                                                             const Layout& layout) const {
  const std::lock_guard lock(index_->mutex);
  if (!index_->index || !index_->index->is_of(*this))
    index_->index = std::make_shared<ChunkIndex>(queue, layout, *this, index_->index.get());
  return index_->index;
}

void LongTermStore::own_index() {
  if (index_.use_count() == 1) return;
  const std::shared_ptr<IndexCell> shared = std::exchange(index_, std::make_shared<IndexCell>());
  const std::lock_guard lock(shared->mutex);
  index_->index = shared->index;
}

void LongTermStore::drop_index() { index_ = std::make_shared<IndexCell>(); }

bool RowCursor::seek(std::int64_t ordinal) {
  if (rows_.n == 0 || ordinal < first_ || ordinal - first_ >= rows_.n) {
    const auto l = static_cast<std::size_t>(layer_);
    const auto& segments = store_.segments();
    const auto begins_after = [&](std::int64_t number, const SegmentUse& use) {
      return number < use.first_ordinal[l];
    };
    // Most often it is in the next one; a store has thousands.
    auto from = segments.begin();
    auto to = segments.end();
    if (rows_.n > 0 && ordinal > first_) {
      from += segment_;
      if (to - from > 2 && begins_after(ordinal, from[2])) to = from + 2;
    }
    const auto after = std::upper_bound(from, to, ordinal, begins_after);
    if (after == segments.begin()) return false;
    const SegmentUse& use = *std::prev(after);
    segment_ = static_cast<std::uint32_t>(std::prev(after) - segments.begin());
    first_ = use.first_ordinal[l];
    rows_ = use.rows(layer_);
  }
  row_ = ordinal - first_;
  return row_ < rows_.n;
}

}  // namespace mplus::memory
