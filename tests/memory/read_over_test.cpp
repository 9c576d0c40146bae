// What a read sees of what a search found: short-term rows that count, chunks within the margin, one
// after another.
#include <map>
#include <set>

#include "tests/memory/search_fixture.h"

namespace mplus::memory {
namespace {

class ReadOverTest : public SearchTest {
 protected:
  const std::vector<std::int64_t> kNewest{39};  // of oracle: short-term memory holds it whole
};

// Rows a layer holds of each chunk, short-term ones and those of the store.
std::map<std::int64_t, std::pair<std::int64_t, std::vector<std::int64_t>>> rows_by_chunk(const Memory& memory,
                                                                                         std::int64_t layer) {
  std::map<std::int64_t, std::pair<std::int64_t, std::vector<std::int64_t>>> chunks;
  const RowsView slots = memory.short_term(layer);
  for (std::int64_t r = 0; r < slots.n; ++r) ++chunks[chunk_of(slots.birth[r], memory.layout().K)].first;
  memory.long_term().for_each(layer, [&](RowId, std::int64_t birth) {
    chunks[chunk_of(birth, memory.layout().K)].second.push_back(birth);
  });
  return chunks;
}

TEST_F(ReadOverTest, WhatIsInShortTermMemoryCountsAmongWhatIsRecalled) {
  const Memory memory = written(40);
  bool less = false;
  for (const RecallRule rule : kRules)
    for (const Search search : {Search::exact, Search::two_level}) {
      RecallPolicy how = policy(kAll, 0);
      how.over_everything = true;
      how.search.search = search;
      for (unsigned question = 1; question < 6; ++question) {
        const Result result = recall(memory, rule, how, question, kNewest);
        std::vector<std::int64_t> order = result.votes.order();
        if (rule == RecallRule::oracle) {
          std::erase(order, 39);
          order.insert(order.begin(), 39);
        }
        for (std::int64_t l = 0; l < kLayers; ++l) {
          auto chunks = rows_by_chunk(memory, l);
          std::int64_t left = memory.layout().K0;
          std::set<std::int64_t> must, may;  // of the chunk that K0 ends in, the best ones
          for (const std::int64_t chunk : order) {
            if (left <= 0) break;
            const auto& [slots, births] = chunks[chunk];
            const bool whole = slots + std::ssize(births) <= left;
            (whole ? must : may).insert(births.begin(), births.end());
            left -= slots + std::ssize(births);
          }
          std::set<std::int64_t> found;
          for (const RecalledRow& row : result.rows[static_cast<std::size_t>(l)]) found.insert(row.birth);
          EXPECT_TRUE(std::includes(found.begin(), found.end(), must.begin(), must.end()));
          for (const std::int64_t birth : found) EXPECT_TRUE(must.contains(birth) || may.contains(birth));
          less |= std::ssize(found) < memory.layout().K0;
        }
      }
    }
  EXPECT_TRUE(less);
}

TEST_F(ReadOverTest, OfShortTermMemoryOnlyWhatCountsIsSeen) {
  const Memory memory = written(40);
  bool some = false;
  for (const RecallRule rule : kRules)
    for (unsigned question = 1; question < 6; ++question)
      for (const double margin : {kNoMargin, 0.5}) {
        RecallPolicy how = policy(kAll, 0);
        how.over_everything = true;
        how.margin = margin;
        for (const auto& seen : recall(memory, rule, how, question, kNewest).seen)
          EXPECT_FALSE(seen) << "not asked for";
        how.read_over = ReadOver::recalled;
        how.search.search = Search::exact;
        const Result exact = recall(memory, rule, how, question, kNewest);
        how.search.search = Search::two_level;
        const Result levels = recall(memory, rule, how, question, kNewest);
        expect_same(levels.rows, exact.rows);
        EXPECT_EQ(levels.seen, exact.seen);
        for (std::int64_t l = 0; l < kLayers; ++l) {
          const auto& births = exact.seen[static_cast<std::size_t>(l)];
          ASSERT_TRUE(births);
          const RowsView slots = memory.short_term(l);
          for (const std::int64_t birth : *births)
            EXPECT_EQ(std::count(slots.birth, slots.birth + slots.n, birth), 1);
          const std::int64_t all = std::ssize(*births) + std::ssize(exact.rows[static_cast<std::size_t>(l)]);
          EXPECT_LE(all, memory.layout().K0);
          EXPECT_TRUE(all == memory.layout().K0 || margin != kNoMargin);
          some |= !births->empty();
        }
      }
  EXPECT_TRUE(some);
}

TEST_F(ReadOverTest, ChunksAreTriedTheNewestFirst) {
  const Memory memory = written(40);
  const std::int64_t K = memory.layout().K;
  const Prior prior = [](std::int64_t chunk) { return static_cast<double>(chunk * 7 % 5); };
  for (const RecallRule rule : kRules)
    for (int i = 0; i < 4; ++i) {
      RecallPolicy how = policy(kAll, 0);
      how.over_everything = true;
      how.search.search = i % 2 ? Search::two_level : Search::exact;
      const bool window_first = i / 2 == 1;
      how.read_over = ReadOver::attempts;
      how.attempts = 4;
      how.rule = rule;
      const Question asked(1);
      const std::unique_ptr<Recall> recall = make_recall(how, given({3, 20}, window_first));
      Attempts& attempts = recall->found()->attempts;
      recall->plan(queue, memory,
                   rule == RecallRule::words ? std::span<const LayerQueries>() : std::span(asked.scout),
                   &prior);
      std::vector<std::int64_t> expected = recall->found()->votes.order();
      if (rule == RecallRule::oracle) {  // given ones first, as they were given
        std::erase_if(expected, [](std::int64_t chunk) { return chunk == 3 || chunk == 20; });
        expected.insert(expected.begin(), {3, 20});
      }
      expected.resize(4);
      std::sort(expected.begin() + (rule == RecallRule::oracle ? 2 : 0), expected.end(), std::greater<>());
      if (window_first) {  // an attempt with what stands in the window
        for (std::int64_t l = 0; l < kLayers; ++l) {
          const LayerRecall layer = recall->rows(queue, memory, l, asked.scout[static_cast<std::size_t>(l)]);
          EXPECT_TRUE(layer.rows.empty());
          EXPECT_EQ(layer.short_term, std::vector<std::int64_t>());
        }
        EXPECT_EQ(attempts.behind(), std::nullopt);
        ASSERT_TRUE(attempts.has_next());
        attempts.next();
      }
      for (std::size_t attempt = 0; attempt < expected.size(); ++attempt) {
        std::set<std::int64_t> chunks;
        std::int64_t rows = 0;
        for (std::int64_t l = 0; l < kLayers; ++l) {
          const LayerRecall layer = recall->rows(queue, memory, l, asked.scout[static_cast<std::size_t>(l)]);
          for (const RecalledRow& row : layer.rows) chunks.insert(chunk_of(row.birth, K));
          ASSERT_TRUE(layer.short_term);
          for (const std::int64_t birth : *layer.short_term) chunks.insert(chunk_of(birth, K));
          rows += std::ssize(layer.rows) + std::ssize(*layer.short_term);
        }
        EXPECT_EQ(chunks, std::set{expected[attempt]});
        EXPECT_EQ(rows, kLayers * K);
        const bool given = rule == RecallRule::oracle && attempt < 2;
        EXPECT_EQ(attempts.behind(), given ? 0 : recall->found()->votes.behind(expected[attempt]));
        ASSERT_EQ(attempts.has_next(), attempt + 1 < expected.size());
        if (attempts.has_next()) attempts.next();
      }
    }
}

TEST_F(ReadOverTest, BeforeAnythingIsStoredTheWindowComesFirstToo) {
  const Memory memory = written(1);
  RecallPolicy how = policy(kAll, 0);
  how.over_everything = true;
  how.read_over = ReadOver::attempts;
  how.rule = RecallRule::consensus;
  const std::unique_ptr<Recall> recall = make_recall(how, given({}, true));  // nothing to plan with
  Attempts& attempts = recall->found()->attempts;
  const Question asked(1);
  const LayerRecall window = recall->rows(queue, memory, 0, asked.scout[0]);
  EXPECT_TRUE(window.rows.empty());
  EXPECT_EQ(window.short_term, std::vector<std::int64_t>());
  ASSERT_TRUE(attempts.has_next());
  attempts.next();
  const LayerRecall rest = recall->rows(queue, memory, 0, asked.scout[0]);
  EXPECT_TRUE(rest.rows.empty());
  EXPECT_EQ(rest.short_term, std::nullopt) << "all of it is read";
  EXPECT_FALSE(attempts.has_next());
}

TEST_F(ReadOverTest, ChunksFarBehindTheBestAreNotRecalled) {
  const Memory memory = written(40);
  for (const RecallRule rule : kRules)
    for (const Search search : {Search::exact, Search::two_level})
      for (const double margin : {0.0, 0.3, 1.0}) {
        RecallPolicy how = policy(kAll, 0);
        how.search.search = search;
        how.margin = margin;
        const Result result = recall(memory, rule, how);
        std::vector<std::int64_t> leaders = result.votes.leaders(margin);
        EXPECT_FALSE(leaders.empty());
        if (rule == RecallRule::oracle) leaders.push_back(3);
        for (const auto& layer : result.rows)
          for (const RecalledRow& row : layer)
            EXPECT_NE(std::find(leaders.begin(), leaders.end(), chunk_of(row.birth, memory.layout().K)),
                      leaders.end());
      }
}

}  // namespace
}  // namespace mplus::memory
