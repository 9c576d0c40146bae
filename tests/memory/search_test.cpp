// Search in two levels, and the index behind it.
#include "mplus/memory/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "mplus/core/thread_pool.h"
#include "mplus/memory/recall.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kLayers = 3, kWidth = 8, kK = 8, kAll = 1'000'000;

Layout layout_of(DType dtype = DType::f32, std::int64_t M = kUnlimited) {
  return {.layers = kLayers,
          .hidden = 2,
          .kv = 4,
          .retriever = kWidth,
          .K = kK,
          .N = 3 * kK,
          .K0 = 10,
          .M = M,
          .dtype = dtype};
}

struct Question {
  explicit Question(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (auto& layer : queries) {
      layer.resize(5 * kWidth);
      for (float& x : layer) x = normal(random);
      scout.push_back({.T = 5, .retriever = layer.data()});
    }
  }
  std::array<std::vector<float>, kLayers> queries;
  std::vector<LayerQueries> scout;
};

// Keys of an update's rows follow from its number and a seed; neighbours are alike.
void write(Memory& memory, unsigned seed, std::int64_t updates) {
  for (std::int64_t i = 0; i < updates; ++i) {
    std::mt19937 random(seed * 7919 + static_cast<unsigned>(memory.updates()));
    std::normal_distribution<float> normal;
    std::vector<std::vector<float>> keys(kLayers), others(kLayers);
    std::vector<NewRows> rows;
    for (std::size_t l = 0; l < kLayers; ++l) {
      keys[l].resize(kK * kWidth);
      others[l].assign(kK * 4, 0.5f);
      for (std::size_t j = 0; j < keys[l].size(); ++j)
        keys[l][j] = normal(random) + (j >= kWidth ? 0.7f * keys[l][j - kWidth] : 0.0f);
      rows.push_back({others[l].data(), others[l].data(), others[l].data(), keys[l].data(), kK});
    }
    memory.update(rows);
  }
}

Memory written(std::int64_t updates, const Layout& layout = layout_of(), unsigned seed = 1) {
  Memory memory(layout, 5);
  write(memory, seed, updates);
  return memory;
}

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

class SearchTest : public ::testing::Test {
 protected:
  struct Result {
    std::vector<std::vector<RecalledRow>> rows;
    Votes votes;
    std::vector<std::optional<std::vector<std::int64_t>>> seen;  // of short-term memory
  };

  static RecallOptions options(std::int64_t keep, std::int64_t sample, std::int64_t top = 0) {
    RecallOptions how;
    how.vote.top = top;
    how.vote.layer_weights = {1, 0.5, 2};
    how.search = {
        .search = Search::two_level, .sample = sample, .keep = keep, .finish = keep, .sharpen = sample};
    how.chunks = {3};
    return how;
  }

  Result recall(const Memory& memory, RecallRule rule, const RecallOptions& how, unsigned question = 1) {
    const Question asked(question);
    const auto recalled = make_recall(rule, how);
    const Prior prior = [](std::int64_t chunk) { return static_cast<double>(chunk * 7 % 5); };
    recalled->plan(context, memory,
                   recalled->wants_scout() ? std::span<const LayerQueries>(asked.scout)
                                           : std::span<const LayerQueries>(),
                   &prior);
    Result result{.rows = {}, .votes = *recalled->votes(), .seen = {}};
    for (std::int64_t l = 0; l < kLayers; ++l) {
      result.rows.push_back(recalled->rows(context, memory, l, asked.scout[static_cast<std::size_t>(l)]));
      result.seen.push_back(recalled->short_term(l));
    }
    return result;
  }

  void expect_index_as_anew(const Memory& memory) {
    const auto index = memory.long_term().chunk_index(context, memory.layout());
    EXPECT_TRUE(*index == ChunkIndex(context, memory.layout(), memory.long_term(), nullptr))
        << memory.updates() << " updates";
  }

  ThreadPool threads{2};
  kernels::Context context{threads, kernels::Numerics::exact};
};

constexpr RecallRule kRules[] = {RecallRule::consensus, RecallRule::hybrid, RecallRule::words,
                                 RecallRule::oracle};

void expect_same(const std::vector<std::vector<RecalledRow>>& a,
                 const std::vector<std::vector<RecalledRow>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t l = 0; l < a.size(); ++l) {
    ASSERT_EQ(a[l].size(), b[l].size());
    for (std::size_t i = 0; i < a[l].size(); ++i) {
      EXPECT_EQ(a[l][i].birth, b[l][i].birth);
      EXPECT_EQ(a[l][i].score, b[l][i].score);
    }
  }
}

TEST_F(SearchTest, NamesLeadToTheWaysOfSearching) {
  EXPECT_EQ(search_from_name("auto"), Search::automatic);
  EXPECT_EQ(search_from_name("exact"), Search::exact);
  EXPECT_EQ(search_from_name("two-level"), Search::two_level);
  EXPECT_FALSE(search_from_name("fast"));
}

TEST_F(SearchTest, AutomaticIsExactUntilItPays) {
  SearchOptions options{.sample = 4, .keep = 20};
  EXPECT_FALSE(in_two_levels(written(40), options));
  EXPECT_TRUE(in_two_levels(written(60), options));
  options.search = Search::exact;
  EXPECT_FALSE(in_two_levels(written(60), options));
}

TEST_F(SearchTest, WithEverythingKeptItIsTheExactSearchToTheLastBit) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Memory memory = written(50, layout_of(dtype));
    for (const RecallRule rule : kRules)
      for (const auto& [top, everything, margin] :
           {std::tuple{0, false, kNoMargin}, {3, false, kNoMargin}, {3, true, kNoMargin}, {3, true, 0.5}}) {
        RecallOptions how = options(kAll, 0, top);
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

TEST_F(SearchTest, WhatIsInShortTermMemoryCountsAmongWhatIsRecalled) {
  const Memory memory = written(40);
  bool less = false;
  for (const RecallRule rule : kRules)
    for (const Search search : {Search::exact, Search::two_level}) {
      RecallOptions how = options(kAll, 0);
      how.over_everything = true;
      how.search.search = search;
      how.chunks = {39};  // of oracle: the newest, which short-term memory holds whole
      for (unsigned question = 1; question < 6; ++question) {
        const Result result = recall(memory, rule, how, question);
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

TEST_F(SearchTest, OfShortTermMemoryOnlyWhatCountsIsSeen) {
  const Memory memory = written(40);
  bool some = false;
  for (const RecallRule rule : kRules)
    for (unsigned question = 1; question < 6; ++question)
      for (const double margin : {kNoMargin, 0.5}) {
        RecallOptions how = options(kAll, 0);
        how.over_everything = true;
        how.margin = margin;
        how.chunks = {39};
        for (const auto& seen : recall(memory, rule, how, question).seen)
          EXPECT_FALSE(seen) << "not asked for";
        how.read_over = ReadOver::recalled;
        how.search.search = Search::exact;
        const Result exact = recall(memory, rule, how, question);
        how.search.search = Search::two_level;
        const Result levels = recall(memory, rule, how, question);
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

TEST_F(SearchTest, ChunksAreReadInTurnTheNewestFirst) {
  const Memory memory = written(40);
  const std::int64_t K = memory.layout().K;
  const Prior prior = [](std::int64_t chunk) { return static_cast<double>(chunk * 7 % 5); };
  for (const RecallRule rule : kRules)
    for (int i = 0; i < 4; ++i) {
      RecallOptions how = options(kAll, 0);
      how.over_everything = true;
      how.search.search = i % 2 ? Search::two_level : Search::exact;
      how.window_first = i / 2 == 1;
      how.read_over = ReadOver::in_turn;
      how.most_in_turn = 4;
      how.chunks = {3, 20};
      const Question asked(1);
      const std::unique_ptr<Recall> recall = make_recall(rule, how);
      recall->plan(context, memory,
                   rule == RecallRule::words ? std::span<const LayerQueries>() : std::span(asked.scout),
                   &prior);
      std::vector<std::int64_t> expected = recall->votes()->order();
      if (rule == RecallRule::oracle) {  // given ones first, as they were given
        std::erase_if(expected, [](std::int64_t chunk) { return chunk == 3 || chunk == 20; });
        expected.insert(expected.begin(), {3, 20});
      }
      expected.resize(4);
      std::sort(expected.begin() + (rule == RecallRule::oracle ? 2 : 0), expected.end(), std::greater<>());
      if (how.window_first) {  // a turn for what stands in the window
        for (std::int64_t l = 0; l < kLayers; ++l) {
          EXPECT_TRUE(recall->rows(context, memory, l, asked.scout[static_cast<std::size_t>(l)]).empty());
          EXPECT_EQ(recall->short_term(l), std::vector<std::int64_t>());
        }
        EXPECT_EQ(recall->behind(), std::nullopt);
        ASSERT_TRUE(recall->has_next());
        recall->next();
      }
      for (std::size_t turn = 0; turn < expected.size(); ++turn) {
        std::set<std::int64_t> chunks;
        std::int64_t rows = 0;
        for (std::int64_t l = 0; l < kLayers; ++l) {
          for (const RecalledRow& row :
               recall->rows(context, memory, l, asked.scout[static_cast<std::size_t>(l)])) {
            chunks.insert(chunk_of(row.birth, K));
            ++rows;
          }
          const auto seen = recall->short_term(l);
          ASSERT_TRUE(seen);
          for (const std::int64_t birth : *seen) chunks.insert(chunk_of(birth, K));
          rows += std::ssize(*seen);
        }
        EXPECT_EQ(chunks, std::set{expected[turn]});
        EXPECT_EQ(rows, kLayers * K);
        const bool given = rule == RecallRule::oracle && turn < 2;
        EXPECT_EQ(recall->behind(), given ? 0 : recall->votes()->behind(expected[turn]));
        ASSERT_EQ(recall->has_next(), turn + 1 < expected.size());
        if (recall->has_next()) recall->next();
      }
    }
}

TEST_F(SearchTest, BeforeAnythingIsStoredTheWindowComesFirstToo) {
  const Memory memory = written(1);
  RecallOptions how = options(kAll, 0);
  how.over_everything = how.window_first = true;
  how.read_over = ReadOver::in_turn;
  const std::unique_ptr<Recall> recall = make_recall(RecallRule::consensus, how);  // nothing to plan with
  const Question asked(1);
  EXPECT_TRUE(recall->rows(context, memory, 0, asked.scout[0]).empty());
  EXPECT_EQ(recall->short_term(0), std::vector<std::int64_t>());
  ASSERT_TRUE(recall->has_next());
  recall->next();
  EXPECT_TRUE(recall->rows(context, memory, 0, asked.scout[0]).empty());
  EXPECT_EQ(recall->short_term(0), std::nullopt) << "all of it is read";
  EXPECT_FALSE(recall->has_next());
}

TEST_F(SearchTest, ChunksFarBehindTheBestAreNotRecalled) {
  const Memory memory = written(40);
  for (const RecallRule rule : kRules)
    for (const Search search : {Search::exact, Search::two_level})
      for (const double margin : {0.0, 0.3, 1.0}) {
        RecallOptions how = options(kAll, 0);
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

TEST_F(SearchTest, ShortAndLongTermTogetherAreTheExactVoteWithEverythingKept) {
  const Memory memory = written(40);
  const Question asked(2);
  VoteOptions how;
  how.top = 3;
  how.keep_layers = true;
  const Votes exact = vote_over_everything(context, memory, asked.scout, how);
  const auto order = [](const Votes& votes) { return votes.order(); };
  const Votes all =
      vote_in_two_levels(context, memory, asked.scout, how, {.keep = kAll, .finish = kAll}, order);
  EXPECT_EQ(all.chunks, exact.chunks);
  EXPECT_EQ(all.votes, exact.votes);
  // What stands in short-term memory is never left to an estimate.
  const Votes few = vote_in_two_levels(context, memory, asked.scout, how,
                                       {.sample = 6, .keep = 4, .finish = 2, .sharpen = 2}, order);
  EXPECT_EQ(few.chunks, exact.chunks);
  EXPECT_NEAR(few[39], exact[39], 0.5);
}

TEST_F(SearchTest, EveryLayerGetsDistinctRowsInOrderOfBirth) {
  const Memory memory = written(60);
  for (const RecallRule rule : kRules)
    for (const std::int64_t keep : {0, 1, 4}) {
      for (const auto& rows : recall(memory, rule, options(keep, 5, 3)).rows) {
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
    for (const auto& rows : recall(Memory(layout_of(), 5), rule, options(4, 4)).rows)
      EXPECT_TRUE(rows.empty());
    const Memory few = written(4);  // one update's rows have left short-term memory: fewer than K0
    for (const auto& rows : recall(few, rule, options(4, 4)).rows) EXPECT_EQ(std::ssize(rows), kK);
    const Memory some = written(9);  // fewer chunks than are kept
    RecallOptions how = options(100, 4);
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
    const Result one = recall(memory, rule, options(6, 8, 3));
    const Result other = recall(shuffled, rule, options(6, 8, 3));
    expect_same(one.rows, other.rows);
    EXPECT_EQ(one.votes.votes, other.votes.votes) << recall_rule_name(rule);
  }
}

TEST_F(SearchTest, WhatIsForgottenNeverComesBack) {
  Memory memory = written(60);
  for (int round = 0; round < 20; ++round) {
    const Result found = recall(memory, RecallRule::consensus, options(4, 8, 3));
    std::set<std::int64_t> chunks;
    for (const auto& rows : found.rows)
      for (const RecalledRow& row : rows) chunks.insert(chunk_of(row.birth, kK));
    memory.forget(chunks);
    const Result again = recall(memory, RecallRule::consensus, options(4, 8, 3));
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
    RecallOptions how = options(kAll, 0);
    const Result kept = recall(loaded, rule, how);
    how.search.search = Search::exact;
    expect_same(kept.rows, recall(loaded, rule, how).rows);
    for (const auto& taken : recall(loaded, rule, options(2, 2)).rows) EXPECT_EQ(taken.size(), 8u);
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
  const Result found = recall(memory, RecallRule::consensus, options(4, 16));
  EXPECT_EQ(found.votes.order().front(), 300);
  RecallOptions how = options(4, 16);
  how.search.search = Search::exact;
  const Votes exact = recall(memory, RecallRule::consensus, how).votes;
  EXPECT_NEAR(found.votes[300], exact[300], 0.1 * exact[300]);
}

TEST_F(SearchTest, MostOfTheBestAmongManyAreTheExactOnes) {
  const Memory memory = written(2000);
  RecallOptions how = options(0, 0, 3);
  how.search = {.search = Search::two_level, .sample = 64, .keep = 250, .finish = 60, .sharpen = 80};
  RecallOptions exactly = how;
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
  const auto index = fork.long_term().chunk_index(context, fork.layout());
  EXPECT_EQ(memory.long_term().chunk_index(context, memory.layout()), index);  // made once
  write(memory, 1, 5);
  EXPECT_EQ(fork.long_term().chunk_index(context, fork.layout()), index);
  write(fork, 2, 9);
  expect_index_as_anew(memory);
  expect_index_as_anew(fork);
  fork.forget({3, 4});
  expect_index_as_anew(memory);
  expect_index_as_anew(fork);
}

TEST_F(SearchTest, IndexBlocksThatStayTheSameAreShared) {
  Memory memory = written(300);
  const auto before = memory.long_term().chunk_index(context, memory.layout());
  write(memory, 1, 1);
  const auto after = memory.long_term().chunk_index(context, memory.layout());
  EXPECT_NE(before, after);
  EXPECT_EQ(before->blocks(0).begin()->second, after->blocks(0).begin()->second);
  EXPECT_GT(after->size_bytes(), before->size_bytes());
}

TEST_F(SearchTest, IndexOutlastsSegmentsMovedElsewhere) {
  for (const std::int64_t M : {kUnlimited, std::int64_t{150}}) {
    Memory memory = written(200, layout_of(DType::f32, M));
    expect_index_as_anew(memory);
    const auto before = memory.long_term().chunk_index(context, memory.layout());
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
    const bool same = memory.long_term().chunk_index(context, memory.layout()) == before;
    EXPECT_EQ(same, M == kUnlimited);  // without rows that expired every row keeps its number
    expect_index_as_anew(memory);
    write(memory, 1, 3);
    expect_index_as_anew(memory);
  }
}

TEST_F(SearchTest, IndexOfALoadedStoreFindsTheSame) {
  const Memory memory = written(60);
  const Memory loaded = with_rows_in_order(memory, [](std::vector<RowId>&) {});
  expect_same(recall(memory, RecallRule::consensus, options(4, 8, 3)).rows,
              recall(loaded, RecallRule::consensus, options(4, 8, 3)).rows);
}

}  // namespace
}  // namespace mplus::memory
