// Search in two levels, and the index behind it.
#include "mplus/memory/recall/search/search.h"

#include <functional>
#include <set>
#include <tuple>

#include "tests/memory/search_fixture.h"

namespace mplus::memory {
namespace {

// Another memory with the same long-term rows, in an order of their own.
Memory with_rows_in_order(const Memory& memory, const std::function<void(std::vector<RowId>&)>& arrange) {
  const Layout& layout = memory.layout();
  auto owner = std::make_shared<std::vector<Rows>>();
  std::vector<RowsView> views;
  std::vector<std::int64_t> counts;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    std::vector<RowId> ids;
    memory.long_term().for_each(l, [&](RowId id, std::int64_t) { ids.push_back(id); });
    arrange(ids);
    Rows& rows = owner->emplace_back(layout, std::max<std::int64_t>(1, std::ssize(ids)));
    for (const RowId id : ids) rows.append(layout, memory.long_term().rows_of(l, id), id.row);
    views.push_back(rows.view());
    counts.push_back(rows.size());
  }
  LongTermStore store(layout);
  store.adopt(std::make_shared<Segment>(std::move(views), std::move(owner)), counts);
  Memory other(layout, 5);
  other.load_long_term(std::move(store));
  other.set_updates(memory.updates());
  return other;
}

TEST_F(SearchTest, NamesLeadToTheWaysOfSearching) {
  EXPECT_EQ(search_from_name("auto"), Search::automatic);
  EXPECT_EQ(search_from_name("exact"), Search::exact);
  EXPECT_EQ(search_from_name("two-level"), Search::two_level);
  EXPECT_FALSE(search_from_name("fast"));
}

TEST_F(SearchTest, AutomaticIsExactUntilItPays) {
  SearchOptions options{.sample = 4, .keep = 20};
  EXPECT_FALSE(in_two_levels(queue, written(40), options));
  EXPECT_TRUE(in_two_levels(queue, written(60), options));
  options.search = Search::exact;
  EXPECT_FALSE(in_two_levels(queue, written(60), options));
}

TEST_F(SearchTest, WithEverythingKeptItIsTheExactSearchToTheLastBit) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Memory memory = written(50, layout_of(dtype));
    for (const RecallRule rule : kRules)
      for (const auto& [top, everything, margin] :
           {std::tuple{0, false, kNoMargin}, {3, false, kNoMargin}, {3, true, kNoMargin}, {3, true, 0.5}}) {
        RecallPolicy how = policy(kAll, 0, top);
        how.over_everything = everything;
        how.margin = margin;
        const Result kept = recall(memory, rule, how);
        how.search = {
            .search = Search::two_level, .sample = kAll, .keep = 0, .finish = 0};  // the same, as a sample
        const Result sampled = recall(memory, rule, how);
        how.search.search = Search::exact;
        const Result exact = recall(memory, rule, how);
        expect_same(kept.rows, exact.rows);
        expect_same(sampled.rows, exact.rows);
        EXPECT_EQ(kept.votes.chunks, exact.votes.chunks);
        EXPECT_EQ(kept.votes.votes, exact.votes.votes) << recall_rule_name(rule) << ", top " << top;
        EXPECT_EQ(kept.votes.held, exact.votes.held);
        EXPECT_EQ(kept.votes.missing_variance, 0);
      }
  }
}

TEST_F(SearchTest, ShortAndLongTermTogetherAreTheExactVoteWithEverythingKept) {
  const Memory memory = written(40);
  const Question asked(2);
  VoteOptions how;
  how.top = 3;
  how.keep_layers = true;
  const Votes exact = vote_over_everything(queue, memory, asked.scout, how);
  const auto order = [](const Votes& votes) { return votes.order(); };
  const Votes all =
      vote_in_two_levels(queue, memory, asked.scout, how, {.keep = kAll, .finish = kAll}, order);
  EXPECT_EQ(all.chunks, exact.chunks);
  EXPECT_EQ(all.votes, exact.votes);
  // What stands in short-term memory is never left to an estimate.
  const Votes few = vote_in_two_levels(queue, memory, asked.scout, how,
                                       {.sample = 6, .keep = 4, .finish = 2, .sharpen = 2}, order);
  EXPECT_EQ(few.chunks, exact.chunks);
  EXPECT_NEAR(few[39], exact[39], 0.5);
}

TEST_F(SearchTest, EveryLayerGetsDistinctRowsInOrderOfBirth) {
  const Memory memory = written(60);
  for (const RecallRule rule : kRules)
    for (const std::int64_t keep : {0, 1, 4}) {
      for (const auto& rows : recall(memory, rule, policy(keep, 5, 3)).rows) {
        ASSERT_EQ(std::ssize(rows), memory.layout().K0) << recall_rule_name(rule);
        std::set<RowId> ids;
        for (const RecalledRow& row : rows) ids.insert(row.id);
        EXPECT_EQ(ids.size(), rows.size());
        EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const RecalledRow& a, const RecalledRow& b) {
          return a.birth < b.birth;
        }));
      }
    }
}

TEST_F(SearchTest, SmallStores) {
  for (const RecallRule rule : kRules) {
    for (const auto& rows : recall(Memory(layout_of(), 5), rule, policy(4, 4)).rows)
      EXPECT_TRUE(rows.empty());
    const Memory few = written(4);  // one update's rows have left short-term memory: fewer than K0
    for (const auto& rows : recall(few, rule, policy(4, 4)).rows) EXPECT_EQ(std::ssize(rows), kK);
    const Memory some = written(9);  // fewer chunks than are kept
    RecallPolicy how = policy(100, 4);
    const Result kept = recall(some, rule, how);
    how.search.search = Search::exact;
    expect_same(kept.rows, recall(some, rule, how).rows);
  }
}

TEST_F(SearchTest, PermutingTheStoreChangesNothing) {
  const Memory memory = written(60);
  std::mt19937 random(3);
  const Memory shuffled = with_rows_in_order(
      memory, [&](std::vector<RowId>& ids) { std::shuffle(ids.begin(), ids.end(), random); });
  for (const RecallRule rule : kRules) {
    const Result one = recall(memory, rule, policy(6, 8, 3));
    const Result other = recall(shuffled, rule, policy(6, 8, 3));
    expect_same(one.rows, other.rows);
    EXPECT_EQ(one.votes.votes, other.votes.votes) << recall_rule_name(rule);
  }
}

TEST_F(SearchTest, WhatIsForgottenNeverComesBack) {
  Memory memory = written(60);
  for (int round = 0; round < 20; ++round) {
    const Result found = recall(memory, RecallRule::consensus, policy(4, 8, 3));
    std::set<std::int64_t> chunks;
    for (const auto& rows : found.rows)
      for (const RecalledRow& row : rows) chunks.insert(chunk_of(row.birth, kK));
    memory.rewrite(Rewriting(memory.layout(), chunks));
    const Result again = recall(memory, RecallRule::consensus, policy(4, 8, 3));
    for (const auto& rows : again.rows)
      for (const RecalledRow& row : rows) EXPECT_FALSE(chunks.contains(chunk_of(row.birth, kK)));
    for (const std::int64_t chunk : chunks) EXPECT_FALSE(again.votes.held[again.votes.place(chunk)]);
    expect_index_as_anew(memory);
  }
}

TEST_F(SearchTest, LoadedBirthsMayBeNegativeFarApartAndCollide) {
  const Layout layout = layout_of();
  Rows rows(layout, 40);
  std::vector<float> key(kWidth, 0.25f), other(4, 0.0f);
  for (const std::int64_t birth :
       std::vector<std::int64_t>{-1, -1, -1, -1'000'000'000, -77, 5, 5, 4'000'000'000'000})
    rows.append(layout, NewRows{other.data(), other.data(), other.data(), key.data(), 1}, birth);
  auto owner = std::make_shared<Rows>(std::move(rows));
  LongTermStore store(layout);
  store.adopt(std::make_shared<Segment>(std::vector<RowsView>(kLayers, owner->view()), owner), {8, 8, 8});
  Memory loaded(layout, 5);
  loaded.load_long_term(std::move(store));
  loaded.set_updates(3);
  for (const RecallRule rule : kRules) {
    RecallPolicy how = policy(kAll, 0);
    const Result kept = recall(loaded, rule, how);
    how.search.search = Search::exact;
    expect_same(kept.rows, recall(loaded, rule, how).rows);
    for (const auto& taken : recall(loaded, rule, policy(2, 2)).rows) EXPECT_EQ(taken.size(), 8u);
  }
}

TEST_F(SearchTest, FindsWhatFitsAmongMany) {
  Memory memory = written(300);
  const Question asked(1);
  // One chunk's rows answer the question in every layer.
  std::vector<NewRows> rows;
  std::vector<std::vector<float>> keys(kLayers);
  const std::vector<float> other(kK * 4, 0.0f);
  for (std::size_t l = 0; l < kLayers; ++l) {
    for (std::int64_t row = 0; row < kK; ++row)
      for (std::int64_t i = 0; i < kWidth; ++i) {
        float sum = 0;
        for (std::int64_t t = 0; t < 5; ++t)
          sum += asked.queries[l][static_cast<std::size_t>(t * kWidth + i)];
        keys[l].push_back(sum);
      }
    rows.push_back({other.data(), other.data(), other.data(), keys[l].data(), kK});
  }
  memory.update(rows);
  write(memory, 1, 60);
  const Result found = recall(memory, RecallRule::consensus, policy(4, 16));
  EXPECT_EQ(found.votes.order().front(), 300);
  RecallPolicy how = policy(4, 16);
  how.search.search = Search::exact;
  const Votes exact = recall(memory, RecallRule::consensus, how).votes;
  EXPECT_NEAR(found.votes[300], exact[300], 0.1 * exact[300]);
}

TEST_F(SearchTest, LayersWithoutAMemoryAreNotWaitedFor) {
  const LayerSet layers({0, 2});
  const Memory memory = written(300, layout_of(DType::f32, kUnlimited, layers));
  for (const RecallRule rule : kRules) {
    const Result kept = recall(memory, rule, policy(kAll, 0));
    RecallPolicy how = policy(kAll, 0);
    how.search.search = Search::exact;
    const Result exact = recall(memory, rule, how);
    expect_same(kept.rows, exact.rows);
    EXPECT_EQ(kept.votes.votes, exact.votes.votes);
    const Result few = recall(memory, rule, policy(4, 16));
    for (std::int64_t l = 0; l < kLayers; ++l)
      EXPECT_EQ(std::ssize(few.rows[static_cast<std::size_t>(l)]),
                layers.contains(l) ? memory.layout().K0 : 0);
    // Most chunks are only estimated: what a layer does not have is not looked for in all of them.
    EXPECT_EQ(few.votes.missing_variance > 0, rule != RecallRule::words);
  }
}

TEST_F(SearchTest, MostOfTheBestAmongManyAreTheExactOnes) {
  const Memory memory = written(2000);
  RecallPolicy how = policy(0, 0, 3);
  how.search = {.search = Search::two_level, .sample = 64, .keep = 250, .finish = 60, .sharpen = 80};
  RecallPolicy exactly = how;
  exactly.search.search = Search::exact;
  constexpr std::size_t kBest = 8;
  std::size_t same = 0;
  constexpr unsigned kQuestions = 25;
  for (unsigned question = 1; question <= kQuestions; ++question) {
    std::vector<std::int64_t> found = recall(memory, RecallRule::consensus, how, question).votes.order();
    std::vector<std::int64_t> wanted = recall(memory, RecallRule::consensus, exactly, question).votes.order();
    for (std::size_t i = 0; i < kBest; ++i)
      same += static_cast<std::size_t>(std::count(found.begin(), found.begin() + kBest, wanted[i]));
  }
  EXPECT_GE(same, kQuestions * kBest * 9 / 10);
}

// The index is kept in step with everything that can happen to a store.

TEST_F(SearchTest, IndexFollowsWritesAndExpiry) {
  for (const std::int64_t M : {kUnlimited, std::int64_t{100}}) {
    Memory memory(layout_of(DType::bf16, M), 5);
    for (const std::int64_t updates : {1, 1, 3, 1, 20, 1, 1, 90, 7}) {
      write(memory, 1, updates);
      expect_index_as_anew(memory);
    }
  }
}

TEST_F(SearchTest, IndexIsSharedByForksUntilTheyWrite) {
  Memory memory = written(40);
  Memory fork = memory;
  const auto index = fork.long_term().chunk_index(queue, fork.layout());
  EXPECT_EQ(memory.long_term().chunk_index(queue, memory.layout()), index);  // made once
  write(memory, 1, 5);
  EXPECT_EQ(fork.long_term().chunk_index(queue, fork.layout()), index);
  write(fork, 2, 9);
  expect_index_as_anew(memory);
  expect_index_as_anew(fork);
  fork.rewrite(Rewriting(fork.layout(), {3, 4}));
  expect_index_as_anew(memory);
  expect_index_as_anew(fork);
  // Other keys under the same numbers.
  const std::vector<float> other(kK * kWidth, 0.25f);
  const std::vector<NewRows> rows(kLayers, {other.data(), other.data(), other.data(), other.data(), kK});
  Rewriting again(memory.layout());
  for (std::int64_t chunk = 5; chunk < 9; ++chunk) again.put(chunk, rows);
  memory.rewrite(again);
  expect_index_as_anew(memory);
  expect_index_as_anew(fork);
}

TEST_F(SearchTest, IndexBlocksThatStayTheSameAreShared) {
  Memory memory = written(300);
  const auto before = memory.long_term().chunk_index(queue, memory.layout());
  write(memory, 1, 1);
  const auto after = memory.long_term().chunk_index(queue, memory.layout());
  EXPECT_NE(before, after);
  EXPECT_EQ(before->blocks(0).begin()->second, after->blocks(0).begin()->second);
  EXPECT_GT(after->size_bytes(), before->size_bytes());
}

TEST_F(SearchTest, IndexOutlastsSegmentsMovedElsewhere) {
  for (const std::int64_t M : {kUnlimited, std::int64_t{150}}) {
    Memory memory = written(200, layout_of(DType::f32, M));
    expect_index_as_anew(memory);
    const auto before = memory.long_term().chunk_index(queue, memory.layout());
    const std::size_t count = memory.long_term().segments().size();
    auto rows = std::make_shared<std::vector<Rows>>(
        memory.long_term().gather(memory.layout(), 0, count, 0, kUnlimited));
    std::vector<RowsView> views;
    std::vector<std::int64_t> counts;
    for (const Rows& layer : *rows) {
      views.push_back(layer.view());
      counts.push_back(layer.size());
    }
    std::vector<LongTermStore::Replacement> by{{std::make_shared<Segment>(std::move(views), rows), counts}};
    memory.replace_segments(0, count, std::move(by));
    const bool same = memory.long_term().chunk_index(queue, memory.layout()) == before;
    EXPECT_EQ(same, M == kUnlimited);  // without rows that expired every row keeps its number
    expect_index_as_anew(memory);
    write(memory, 1, 3);
    expect_index_as_anew(memory);
  }
}

TEST_F(SearchTest, IndexOfALoadedStoreFindsTheSame) {
  const Memory memory = written(60);
  const Memory loaded = with_rows_in_order(memory, [](std::vector<RowId>&) {});
  expect_same(recall(memory, RecallRule::consensus, policy(4, 8, 3)).rows,
              recall(loaded, RecallRule::consensus, policy(4, 8, 3)).rows);
}

}  // namespace
}  // namespace mplus::memory
