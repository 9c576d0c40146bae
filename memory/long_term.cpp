#include "mplus/memory/long_term.h"

#include <algorithm>

#include "mplus/core/error.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kSegmentRows = 1024;  // 27 MB of the default model; memory is touched as rows come

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

LongTermStore::LongTermStore(const Layout& layout)
    : expiry_(index(layout.layers)),
      alive_(index(layout.layers), 0),
      next_ordinal_(index(layout.layers), 0) {}

void LongTermStore::begin_append(const Layout& layout, std::int64_t most_rows) {
  if (most_rows == 0) return;
  if (!segments_.empty()) {
    SegmentUse& last = segments_.back();
    const std::int64_t used = *std::max_element(last.used.begin(), last.used.end());
    if (used + most_rows <= last.segment->capacity() && last.segment->claim(last.epoch)) {
      ++last.epoch;
      return;
    }
  }
  SegmentUse fresh{.segment = std::make_shared<Segment>(layout, std::max(kSegmentRows, most_rows)),
                   .used = std::vector<std::int64_t>(index(layout.layers), 0),
                   .first_ordinal = next_ordinal_,
                   .epoch = 1};
  MPLUS_CHECK(fresh.segment->claim(0), "a new segment belongs to its maker");
  segments_.push_back(std::move(fresh));
}

void LongTermStore::append(const Layout& layout, std::int64_t layer, const RowsView& from,
                           const std::int64_t* rows, std::int64_t count) {
  if (count == 0) return;
  const std::size_t l = index(layer);
  SegmentUse& last = segments_.back();
  for (std::int64_t i = 0; i < count; ++i) {
    last.segment->append(layout, layer, from, rows[i]);
    if (Expiry{from.birth[rows[i]], next_ordinal_[l]} >= expiry_[l]) ++alive_[l];
    ++next_ordinal_[l];
  }
  last.used[l] += count;
}

void LongTermStore::enforce_capacity(const Layout& layout) {
  bool expired = false;
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    const std::size_t l = index(layer);
    const std::int64_t excess = alive_[l] - layout.M;
    if (excess <= 0) continue;
    std::vector<Expiry> order;
    order.reserve(index(alive_[l]));
    for (const SegmentUse& use : segments_)
      for (std::int64_t r = 0; r < use.used[l]; ++r)
        if (alive(layer, use, r))
          order.push_back({use.segment->rows(layer).birth[r], use.first_ordinal[l] + r});
    std::nth_element(order.begin(), order.begin() + excess, order.end());
    expiry_[l] = order[index(excess)];
    alive_[l] = layout.M;
    expired = true;
  }
  if (expired) release_expired_segments();
}

void LongTermStore::release_expired_segments() {
  std::erase_if(segments_, [&](const SegmentUse& use) {
    for (std::size_t l = 0; l < use.used.size(); ++l)
      for (std::int64_t r = 0; r < use.used[l]; ++r)
        if (alive(static_cast<std::int64_t>(l), use, r)) return false;
    return true;
  });
}

void LongTermStore::adopt(std::shared_ptr<Segment> segment, const std::vector<std::int64_t>& rows) {
  segments_.push_back(
      {.segment = std::move(segment), .used = rows, .first_ordinal = next_ordinal_, .epoch = 0});
  for (std::size_t l = 0; l < rows.size(); ++l) {
    next_ordinal_[l] += rows[l];
    for (std::int64_t r = 0; r < rows[l]; ++r)
      if (alive(static_cast<std::int64_t>(l), segments_.back(), r)) ++alive_[l];
  }
}

void LongTermStore::set_expiry(std::int64_t layer, Expiry expiry) {
  MPLUS_CHECK(segments_.empty(), "the threshold of a loaded store is set before its rows come");
  expiry_[index(layer)] = expiry;
}

}  // namespace mplus::memory
