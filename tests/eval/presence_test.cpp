#include "mplus/eval/run/presence.h"

#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"

namespace mplus::eval {
namespace {

// Every row an update wrote is in short-term memory, in the long-term store, or gone for ever.
TEST(Presence, CountsEveryRowOnce) {
  engine::Engine engine(engine::tiny_options());
  engine::Session session(engine, 1);
  const memory::Layout& layout = engine.layout();
  const auto chunk = static_cast<std::size_t>(engine.chunk_tokens());
  const std::int64_t updates = layout.N / layout.K + 3;
  for (std::int64_t u = 0; u < updates; ++u)
    session.remember_ids(engine::random_ids(chunk, 10 + static_cast<unsigned>(u)), "s");
  const std::int64_t first = session.memory().updates() - updates;  // a checkpoint may bring some
  const Presence presence(session.memory());
  double short_term = 0;
  for (std::int64_t u = first; u < session.memory().updates(); ++u) {
    const std::int64_t one[] = {u};
    const Presence::Share share = presence.of(one);
    EXPECT_NEAR(share.short_term + share.long_term, 1.0, 1e-12) << u;
    short_term += share.short_term;
  }
  EXPECT_GT(short_term, 0.5);
  const std::int64_t newest[] = {session.memory().updates() - 1};
  EXPECT_DOUBLE_EQ(presence.of(newest).short_term, 1.0);
  const std::int64_t two[] = {first, session.memory().updates() - 1};
  const std::int64_t oldest[] = {first};
  EXPECT_NEAR(presence.of(two).short_term, (presence.of(oldest).short_term + 1) / 2, 1e-12);
}

TEST(Observation, SeesWhatWasRecalledAndChangesNothing) {
  engine::Engine engine(engine::tiny_options());
  engine::Session session(engine, 1);
  const auto chunk = static_cast<std::size_t>(engine.chunk_tokens());
  const memory::Layout& layout = engine.layout();
  for (std::int64_t u = 0; u < layout.N / layout.K + 6; ++u)
    session.remember_ids(engine::random_ids(chunk, 40 + static_cast<unsigned>(u)), "s");
  engine::GenerateOptions plain;
  plain.max_tokens = 8;
  plain.recall.rule = RecallRule::consensus;
  const auto ids = engine::random_ids(12, 3);
  const auto expected = session.generate_ids(ids, plain).tokens;
  // Over all updates the recalled rows must add up to what the read recalled.
  double recalled = 0;
  std::set<std::int64_t> ranks;
  for (std::int64_t u = 0; u < session.memory().updates(); ++u) {
    Observation seen{.gold = {u}, .want_rank = true, .recalled = {}};
    engine::GenerateOptions options = plain;
    options.recall_strategy = [&] {
      return observe(
          memory::make_recall({RecallRule::consensus}, {.layer_weights = engine.weights().vote_weights}),
          seen, engine.vote_options(), false);
    };
    EXPECT_EQ(session.generate_ids(ids, options).tokens, expected);
    recalled += seen.recalled_mean() * static_cast<double>(layout.K);
    EXPECT_GE(seen.rank, 1);
    EXPECT_TRUE(ranks.insert(seen.rank).second) << "two chunks of one rank";
  }
  EXPECT_LE(recalled, static_cast<double>(layout.K0) + 1e-9);
  EXPECT_GT(recalled, 0.0);
}

}  // namespace
}  // namespace mplus::eval
