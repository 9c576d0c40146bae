// Where chunks are read in turn: whether the one at hand gives the answer (docs/recall.md, "The rules"), by
// how likely an answer begins against the words that say there is none.
#pragma once

#include <span>
#include <vector>

#include "mplus/io/config/memory_config.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

class TurnChoice {
 public:
  TurnChoice(const io::Tokenizer& tokenizer, const io::MemoryConfig& memory);

  // `logits`: of the first token, for a chunk so far behind the best one. Bars what must not be said; false:
  // the chunk is passed over, and if it is the last all that is left to say is that there is no answer.
  bool settle(std::span<float> logits, double behind) const;

 private:
  std::vector<io::TokenId> none_;  // that say so begin with
  double lean_, lag_;
};

}  // namespace mplus::engine
