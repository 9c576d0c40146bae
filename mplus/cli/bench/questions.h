// Questions over a full memory, to their first token.
#pragma once

#include <cstdint>

#include "mplus/cli/bench/full_memory.h"
#include "mplus/cli/bench/machine.h"
#include "mplus/core/recall_policy.h"
#include "mplus/engine/engine.h"

namespace mplus::cli {

struct FirstToken {
  Spread whole;              // seconds, from the question's tokens to the first one of the answer, and of it:
  Spread scout, plan, read;  // the scout pass; scores, votes and the choice of rows; the read
};
FirstToken first_token(engine::Engine& engine, FullMemory& full, std::int64_t tokens, RecallRule rule,
                       int repetitions);

// Tokens a second behind such a question, the most likely one each time.
Spread decode_over(engine::Engine& engine, FullMemory& full, std::int64_t tokens, int repetitions);

}  // namespace mplus::cli
