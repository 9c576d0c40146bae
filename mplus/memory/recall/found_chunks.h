// What a rule that puts chunks in order has found, and where a read stands that tries one chunk after
// another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mplus/memory/recall/scores.h"
#include "mplus/memory/recall/vote.h"

namespace mplus::memory {

// The chunks of ReadOver::attempts. Before them the window alone, where it holds newer text; where no chunk
// is tried, what is read then is read together. For the next attempt the read is done again, with
// Recall::rows for each layer.
class Attempts {
 public:
  struct Attempt {
    std::int64_t chunk = 0;
    double behind = 0;  // the best, in standard deviations of what chunks were ordered by
  };

  explicit Attempts(bool window_first = false) : window_first_(window_first) {}
  void take(std::vector<Attempt> chunks) { chunks_ = std::move(chunks); }

  bool has_next() const { return at_ + 1 < std::max<std::size_t>(chunks_.size(), 1) + window(); }
  void next() { ++at_; }
  bool window_alone() const { return at_ < window(); }
  const Attempt* chunk() const {
    return window_alone() || chunks_.empty() ? nullptr : &chunks_[at_ - window()];
  }
  // None where all is read at once, or nothing.
  std::optional<double> behind() const { return chunk() ? std::optional(chunk()->behind) : std::nullopt; }

 private:
  std::size_t window() const { return window_first_ ? 1 : 0; }

  bool window_first_;
  std::vector<Attempt> chunks_;
  std::size_t at_ = 0;
};

struct FoundChunks {
  Votes votes;                         // what the chunks were ordered by
  std::span<const ScoredRows> scores;  // [L] behind it, where the rule has them of every row
  Attempts attempts;
};

}  // namespace mplus::memory
