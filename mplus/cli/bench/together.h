// Many sessions in one step of the runner, beside one alone: what a server gains by batching.
#pragma once

#include <cstdint>

#include "mplus/cli/bench/machine.h"
#include "mplus/engine/session.h"

namespace mplus::cli {

struct TogetherRates {
  Spread one, all;  // tok/s, of one session and of all of them added up; measured by turns
};

// Sessions that answer at once: forks of `session`, so that each has its memory.
TogetherRates decode_together(const engine::Session& session, int sessions, std::int64_t tokens,
                              int repetitions, const engine::SamplingOptions& sampling = {});
// Sessions that remember at once, each from an empty memory on.
TogetherRates remember_together_rate(engine::Engine& engine, int sessions, int repetitions);
// Seconds of the steps in which an answer's next token is made beside another session's write, which pauses
// after every layer, as a server has it.
Spread step_beside_a_write(const engine::Session& session, std::int64_t tokens);

}  // namespace mplus::cli
