#include "mplus/memory/oldest_rows.h"

#include <algorithm>
#include <functional>

#include "mplus/core/error.h"

namespace mplus::memory {

// They were born just behind the threshold, as a rule within a few times n births of it, and most blocks of
// rows hold nothing that old.
void OldestRows::find(std::span<const SegmentUse> segments, std::int64_t layer, Expiry oldest,
                      std::int64_t n) {
  constexpr std::int64_t kUpdates = 16;  // served by one search
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = kLast;
  for (const SegmentUse& use : segments)
    for (const std::int64_t birth : use.oldest[static_cast<std::size_t>(layer)])
      first = std::min(first, birth);
  first = std::max(first, oldest.birth);
  last_ = first;
  for (std::int64_t span = kUpdates * n; !has(n) && last_ < kLast; span *= 4) {
    last_ = span < kLast / 4 && first < kLast - span ? first + span : kLast;
    collect(segments, layer, oldest);
  }
  std::sort(rows_.begin(), rows_.end(), std::greater<>{});
}

void OldestRows::collect(std::span<const SegmentUse> segments, std::int64_t layer, Expiry oldest) {
  const auto l = static_cast<std::size_t>(layer);
  rows_.clear();
  for (const SegmentUse& use : segments) {
    const RowsView rows = use.rows(layer);
    for (std::size_t block = 0; block < use.oldest[l].size(); ++block) {
      if (use.oldest[l][block] > last_) continue;
      const auto begin = static_cast<std::int64_t>(block) * SegmentUse::kBirthBlock;
      const std::int64_t end = std::min(rows.n, begin + SegmentUse::kBirthBlock);
      for (std::int64_t r = begin; r < end; ++r) {
        if (rows.birth[r] > last_) continue;  // nearly all of them
        if (const Expiry row{rows.birth[r], use.first_ordinal[l] + r}; row >= oldest) rows_.push_back(row);
      }
    }
  }
}

void OldestRows::add(Expiry row) {
  if (row.birth > last_) return;
  rows_.insert(std::upper_bound(rows_.begin(), rows_.end(), row, std::greater<>{}), row);
}

Expiry OldestRows::drop(std::int64_t n) {
  MPLUS_CHECK(std::ssize(rows_) > n, "{} rows expire, {} are known", n, rows_.size());
  rows_.resize(rows_.size() - static_cast<std::size_t>(n));
  return rows_.back();
}

}  // namespace mplus::memory
