#include <gtest/gtest.h>

#include <cstring>

#include "mplus/core/error.h"
#include "tests/engine/tiny_engine.h"
#include "tests/memory/same_rows.h"

namespace mplus::engine {
namespace {

void expect_same_memory(const Session& a, const Session& b) {
  const memory::Layout& layout = a.memory().layout();
  ASSERT_EQ(a.memory().updates(), b.memory().updates());
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView x = a.memory().short_term(l), y = b.memory().short_term(l);
    ASSERT_EQ(x.n, y.n);
    EXPECT_TRUE(memory::same_rows(layout, x, y));
    EXPECT_EQ(a.memory().long_term().size(l), b.memory().long_term().size(l));
  }
}

TEST(Together, WritesWhatEachWouldWriteAlone) {
  Engine engine(tiny_options(2));
  const auto C = static_cast<std::size_t>(engine.chunk_tokens()),
             K = static_cast<std::size_t>(engine.layout().K);
  std::vector<Session> alone, together;
  for (std::uint64_t s = 0; s < 3; ++s) {
    alone.emplace_back(engine, s);
    together.emplace_back(engine, s);
  }
  const std::size_t lengths[] = {C, K, C - 5};
  for (unsigned round = 0; round < 12; ++round) {
    std::vector<std::vector<io::TokenId>> ids;
    for (unsigned s = 0; s < 3; ++s) ids.push_back(random_ids(lengths[(s + round) % 3], 100 * round + s));
    std::vector<Session*> sessions;
    std::vector<Document> documents;
    for (std::size_t s = 0; s < 3; ++s) {
      alone[s].remember_ids(ids[s], "d");
      sessions.push_back(&together[s]);
      documents.push_back({.source = "d", .ids = ids[s]});
    }
    Session::remember_together(sessions, documents);
  }
  for (std::size_t s = 0; s < 3; ++s) {
    expect_same_memory(alone[s], together[s]);
    EXPECT_EQ(alone[s].record().sources(), together[s].record().sources());
    const auto& x = alone[s].record().spans(3);
    const auto& y = together[s].record().spans(3);
    ASSERT_EQ(x.size(), y.size());
    EXPECT_EQ(x[0].token_end, y[0].token_end);
    EXPECT_EQ(next_tokens(alone[s]), next_tokens(together[s]));
  }
}

TEST(Together, RefusesWhatIsNoWholeChunk) {
  Engine engine(tiny_options());
  Session session(engine);
  Session* sessions[] = {&session};
  const auto longer = random_ids(static_cast<std::size_t>(engine.chunk_tokens()) + 1, 1);
  const auto shorter = random_ids(static_cast<std::size_t>(engine.layout().K) - 1, 1);
  const auto whole = random_ids(static_cast<std::size_t>(engine.chunk_tokens()), 1);
  for (const auto& ids : {longer, shorter}) {
    const Document document[] = {{.source = "d", .ids = ids}};
    EXPECT_THROW(Session::remember_together(sessions, document), Error);
  }
  session.remember_ids(shorter, "waits");
  const Document document[] = {{.source = "d", .ids = whole}};
  EXPECT_THROW(Session::remember_together(sessions, document), Error);
}

}  // namespace
}  // namespace mplus::engine
