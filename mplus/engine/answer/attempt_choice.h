// Where one chunk is tried after another: whether the one at hand gives the answer (docs/recall.md, "The
// rules"), by how likely an answer begins against the words that say there is none.
#pragma once

#include <span>
#include <vector>

#include "mplus/core/recall_policy.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

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
