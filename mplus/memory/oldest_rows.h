// The rows of one layer's long-term store that expire next, in order: one search through the store serves
// many updates.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mplus/memory/segment.h"

namespace mplus::memory {

// The oldest row still there, by birth, then by ordinal (loaded births may collide).
struct Expiry {
  std::int64_t birth = std::numeric_limits<std::int64_t>::min();
  std::int64_t ordinal = 0;
  friend auto operator<=>(const Expiry&, const Expiry&) = default;
};

class OldestRows {
 public:
  // The layer's living rows (from `oldest` on), at least n of them and as a rule sixteen times as many.
  void find(std::span<const SegmentUse> segments, std::int64_t layer, Expiry oldest, std::int64_t n);
  bool has(std::int64_t n) const { return std::ssize(rows_) >= n; }
  void add(Expiry row);         // a living row that came to the store since
  Expiry drop(std::int64_t n);  // n rows expire; the oldest one left, which must be known

 private:
  void collect(std::span<const SegmentUse> segments, std::int64_t layer, Expiry oldest);

  std::vector<Expiry> rows_;  // the oldest last; all living rows born up to last_
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace mplus::memory
