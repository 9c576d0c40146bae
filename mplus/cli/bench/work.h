// The pieces of work whose speed `mplus bench` measures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "mplus/cli/bench/machine.h"
#include "mplus/engine/session.h"

namespace mplus::cli {

// Token ids that follow no pattern, always the same.
std::vector<io::TokenId> bench_tokens(const engine::Engine& engine, std::int64_t n);

Spread prefill_rate(engine::Session& session, std::int64_t tokens, int repetitions);  // tok/s
Spread decode_rate(engine::Session& session, std::int64_t tokens, int repetitions,
                   const engine::SamplingOptions& sampling = {});  // tok/s
engine::SamplingOptions by_chance(const engine::Engine& engine);   // as chats are sampled, without an end

// Writes chunks into the session; tok/s of each, and of the first and the last quarter.
struct IngestRates {
  Spread each;
  double first_quarter = 0, last_quarter = 0;
};
IngestRates ingest_rate(engine::Session& session, std::int64_t chunks);

// The same text into a session of a store and into one without, by turns, in documents as long as lie between
// two states: what journal, states and segments cost. The store is made below `folder` and removed.
struct StoreRates {
  Spread plain, stored;  // tok/s
};
StoreRates store_rates(engine::Engine& engine, const std::filesystem::path& folder, std::int64_t blocks);

// Seconds to score every row of every layer of a made-up long-term store, to vote and to choose the rows.
Spread recall_seconds(engine::Engine& engine, std::int64_t rows, std::int64_t question_tokens,
                      int repetitions);

// What a question costs over the session's memory: the scout pass by itself, and the read that follows it.
struct QuestionSeconds {
  Spread scout, read;
};
QuestionSeconds question_seconds(engine::Session& session, std::int64_t tokens, int repetitions);

}  // namespace mplus::cli
