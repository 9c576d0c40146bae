// Where a chunk's rows are: counted from births, for all chunks at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mplus/memory/recall/recall.h"

namespace mplus::eval {

// Rows of each update in short-term and long-term memory, over all layers.
class Presence {
 public:
  explicit Presence(const memory::Memory& memory);

  struct Share {
    double short_term = 0, long_term = 0;  // of the rows these updates wrote, K each in every layer
  };
  Share of(std::span<const std::int64_t> updates) const;

 private:
  double whole_;                                      // rows of one update: K · L
  std::vector<std::int64_t> short_term_, long_term_;  // [update]
};

// What one read recalled of the chunks that matter, and how the layers voted on them.
struct Observation {
  std::vector<std::int64_t> gold;  // updates
  bool want_rank = false;          // vote over everything: costs a scoring of all rows
  std::vector<double> recalled;    // [L] share of the gold updates' K rows recalled
  double recalled_mean() const;
  bool is_gold(std::int64_t chunk) const;
  void count(const std::vector<std::vector<std::int64_t>>& recalled_births,
             std::int64_t K);  // [L], of a whole read
  std::int64_t rank = 0;       // of the best gold update by what the rule goes by (vote, words or both), over
                               // short- and long-term rows together; 0: not known
};

// Passes everything on to `inner` and notes what comes back. The observation must outlive it.
// `over_everything`: the rule's own order is over short- and long-term rows together.
std::unique_ptr<memory::Recall> observe(std::unique_ptr<memory::Recall> inner, Observation& observation,
                                        const memory::VoteOptions& options, bool over_everything);

}  // namespace mplus::eval
