// Where one chunk is tried after another: which come first, by their text; and whether the one at hand gives
// the answer (docs/recall.md, "Attempts"), by how likely an answer begins against the words that say there is
// none.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mplus/core/recall_policy.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/memory/recall/found_chunks.h"

namespace mplus::engine {

// Of the best chunks those whose text speaks most for an answer, the newest first; none where it speaks for
// none.
using SpeaksFor = std::function<std::int64_t(std::int64_t chunk)>;  // how much; 0: not at all
std::vector<std::int64_t> spoken_for(std::span<const std::int64_t> best_first, const SpeaksFor& speaks_for);

// These, as if they came before the best one, then the others that are attempted anyway; empty where there
// are none of them.
std::vector<memory::Attempts::Attempt> attempts_by_text(const memory::Votes& votes,
                                                        const RecallPolicy& policy,
                                                        const SpeaksFor& speaks_for);

inline constexpr std::size_t kBestChunks = 8;  // that are looked at
inline constexpr double kAhead = 1;  // standard deviations that a chunk counts as before the best one

class AttemptChoice {
 public:
  AttemptChoice(const io::Tokenizer& tokenizer, const RecallPolicy& policy);

  // `logits`: of the first token, for a chunk so far behind the best one. Bars what must not be said; false:
  // the chunk is passed over, and if it is the last all that is left to say is that there is no answer.
  bool settle(std::span<float> logits, double behind) const;

 private:
  std::vector<io::TokenId> none_;  // that say so begin with
  double lean_, lag_;
};

}  // namespace mplus::engine
