// The rules of recall, and the laws they keep.
#include "mplus/memory/recall/recall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "mplus/core/thread_pool.h"

namespace mplus::memory {
namespace {

using Births = std::vector<std::int64_t>;

constexpr std::int64_t kK = 4, kK0 = 6, kWidth = 8;

Layout layout_of(std::int64_t layers) {
  return {.layers = layers,
          .hidden = 2,
          .kv = 4,
          .retriever = kWidth,
          .K = kK,
          .N = 8,
          .K0 = kK0,
          .dtype = DType::f32};
}

// A memory whose long-term store holds the given births in every layer, with keys that follow from birth and
// layer alone.
struct Store {
  explicit Store(std::int64_t layers, Births births_of_all, std::int64_t updates = 20)
      : Store(std::vector<Births>(static_cast<std::size_t>(layers), births_of_all), updates) {}

  Store(const std::vector<Births>& births, std::int64_t updates)
      : memory(layout_of(static_cast<std::int64_t>(births.size())), 0) {
    const Layout& layout = memory.layout();
    auto rows = std::make_shared<std::vector<Rows>>();
    rows->reserve(births.size());
    std::vector<RowsView> views;
    std::vector<std::int64_t> counts;
    for (std::size_t l = 0; l < births.size(); ++l) {
      Rows& layer = rows->emplace_back(layout, std::max<std::int64_t>(1, std::ssize(births[l])));
      for (const std::int64_t birth : births[l]) {
        std::mt19937 random(static_cast<unsigned>(birth * 31 + static_cast<std::int64_t>(l)));
        std::normal_distribution<float> normal;
        std::vector<float> hidden(2), k(4), v(4), key(kWidth);
        for (float& x : k) x = normal(random);
        for (float& x : key) x = normal(random);
        layer.append(layout, NewRows{hidden.data(), k.data(), v.data(), key.data(), 1}, birth);
      }
      views.push_back(layer.view());
      counts.push_back(views.back().n);
    }
    LongTermStore store(layout);
    store.adopt(std::make_shared<Segment>(std::move(views), std::move(rows)), counts);
    memory.load_long_term(std::move(store));
    memory.set_updates(updates);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    queries.resize(births.size(), std::vector<float>(3 * kWidth));
    attention.resize(births.size(), std::vector<float>(3 * 8));
    for (std::size_t l = 0; l < births.size(); ++l) {
      for (float& x : queries[l]) x = normal(random);
      for (float& x : attention[l]) x = normal(random);
      scout.push_back({.T = 3,
                       .retriever = queries[l].data(),
                       .attention = attention[l].data(),
                       .pool = pool.data(),
                       .heads = 4,
                       .head_size = 2});
    }
  }

  std::vector<std::vector<RecalledRow>> recall(const RecallPolicy& policy, RecallInput input = {},
                                               const Prior& prior = {}) {
    const auto how = make_recall(policy, std::move(input));
    how->plan(queue, memory,
              how->wants_scout() ? std::span<const LayerQueries>(scout) : std::span<const LayerQueries>(),
              prior ? &prior : nullptr);
    if (how->found()) votes = how->found()->votes;
    std::vector<std::vector<RecalledRow>> layers;
    for (std::size_t l = 0; l < scout.size(); ++l)
      layers.push_back(how->rows(queue, memory, static_cast<std::int64_t>(l), scout[l]).rows);
    return layers;
  }

  Memory memory;
  std::vector<std::vector<float>> queries, attention;
  std::vector<float> pool{0.2f, 0.5f, 0.3f};
  std::vector<LayerQueries> scout;
  Votes votes;
  ThreadPool threads{1};
  kernels::Queue queue{threads, kernels::Numerics::exact};
};

Births births_of(const std::vector<RecalledRow>& rows) {
  Births births;
  for (const RecalledRow& row : rows) births.push_back(row.birth);
  return births;
}

std::vector<Births> births_of(const std::vector<std::vector<RecalledRow>>& layers) {
  std::vector<Births> births;
  for (const auto& rows : layers) births.push_back(births_of(rows));
  return births;
}

Births counted(std::int64_t n) {
  Births births(static_cast<std::size_t>(n));
  std::iota(births.begin(), births.end(), 0);
  return births;
}

RecallInput input_of(RecallRule rule) {
  RecallInput input;
  if (rule == RecallRule::oracle) input.chunks = {2};
  return input;
}

double by_hand(const Store& store, std::size_t layer, std::int64_t birth) {
  const Births births = list_long_term(store.memory, static_cast<std::int64_t>(layer)).living_births();
  const auto at = static_cast<std::size_t>(std::find(births.begin(), births.end(), birth) - births.begin());
  const RowsView view = store.memory.long_term().segments()[0].rows(static_cast<std::int64_t>(layer));
  const float* key = reinterpret_cast<const float*>(view.key) + static_cast<std::int64_t>(at) * kWidth;
  double sum = 0;
  for (std::int64_t t = 0; t < 3; ++t) {
    double dot = 0;
    for (std::int64_t i = 0; i < kWidth; ++i)
      dot += double{store.queries[layer][static_cast<std::size_t>(t * kWidth + i)]} * double{key[i]};
    sum += 1 / (1 + std::exp(-dot));
  }
  return sum / 3;
}

TEST(Recall, EveryRuleHasANameThatLeadsBack) {
  for (const RecallRule rule : kRecallRules) EXPECT_EQ(recall_rule_from_name(recall_rule_name(rule)), rule);
  EXPECT_FALSE(recall_rule_from_name("guess"));
}

TEST(Recall, EveryRuleGivesDistinctRowsInOrderOfBirth) {
  Store store(3, counted(40));
  for (const RecallRule rule : kRecallRules) {
    const auto layers =
        store.recall({rule}, input_of(rule), [](std::int64_t chunk) { return chunk % 3 == 0 ? 1.0 : 0.0; });
    for (const auto& rows : layers) {
      EXPECT_EQ(rows.size(), rule == RecallRule::none ? 0u : 6u) << recall_rule_name(rule);
      const Births births = births_of(rows);
      EXPECT_TRUE(std::is_sorted(births.begin(), births.end()));
      std::set<std::pair<std::uint32_t, std::uint32_t>> ids;
      for (const RecalledRow& row : rows) ids.emplace(row.id.segment, row.id.row);
      EXPECT_EQ(ids.size(), rows.size()) << recall_rule_name(rule);
    }
  }
}

TEST(Recall, PermutingTheStoreChangesNothing) {
  const Births births = counted(40);
  Births shuffled = births;
  std::mt19937 random(3);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  Store one(3, births), other(3, shuffled);
  const Prior prior = [](std::int64_t chunk) { return static_cast<double>((chunk * 7) % 5); };
  for (const RecallRule rule : kRecallRules) {
    EXPECT_EQ(births_of(one.recall({rule}, input_of(rule), prior)),
              births_of(other.recall({rule}, input_of(rule), prior)))
        << recall_rule_name(rule);
    EXPECT_EQ(one.votes.votes, other.votes.votes) << recall_rule_name(rule);  // to the last bit
  }
}

TEST(Recall, WithOneLayerChunksComeByTheirMeanScore) {
  Store store(1, counted(40));
  store.recall({RecallRule::consensus});
  std::vector<std::pair<double, std::int64_t>> means;
  for (std::int64_t chunk = 0; chunk < 10; ++chunk) {
    double mean = 0;
    for (std::int64_t i = 0; i < kK; ++i) mean += by_hand(store, 0, chunk * kK + i) / kK;
    means.emplace_back(-mean, chunk);
  }
  std::sort(means.begin(), means.end());
  Births expected;
  for (const auto& [mean, chunk] : means) expected.push_back(chunk);
  Births found;
  for (const std::int64_t chunk : store.votes.order())
    if (store.votes.held[store.votes.place(chunk)]) found.push_back(chunk);
  EXPECT_EQ(found, expected);
}

TEST(Recall, SmallStores) {
  const Prior prior = [](std::int64_t) { return 0.0; };
  for (const RecallRule rule : kRecallRules) {
    Store empty(2, Births{});
    for (const auto& rows : empty.recall({rule}, input_of(rule), prior)) EXPECT_TRUE(rows.empty());
    Store few(2, {9, 8, 3});  // fewer than K0: each of them once
    for (const auto& rows : few.recall({rule}, input_of(rule), prior))
      EXPECT_EQ(births_of(rows), rule == RecallRule::none ? Births{} : (Births{3, 8, 9}))
          << recall_rule_name(rule);
    Store one(2, {8, 9, 10, 11});  // one chunk: its standardised score is 0
    one.recall({rule}, input_of(rule), prior);
    if (rule == RecallRule::consensus) {
      EXPECT_EQ(one.votes[2], 0.0);
    }
  }
}

TEST(Recall, EqualScoresGoToTheOlder) {
  Store store(2, {30, 31, 12, 13, 14, 0, 1, 2, 3, 20, 21});
  for (auto& q : store.queries) std::fill(q.begin(), q.end(), 0.0f);  // every score is one half
  for (const RecallRule rule :
       {RecallRule::per_layer, RecallRule::consensus, RecallRule::words, RecallRule::hybrid})
    for (const auto& rows : store.recall({rule}, {}, [](std::int64_t) { return 0.0; }))
      EXPECT_EQ(births_of(rows), (Births{0, 1, 2, 3, 12, 13})) << recall_rule_name(rule);
}

TEST(Recall, LoadedBirthsMayBeNegativeAndCollide) {
  // Three rows of one birth, far-away ages, and rows of this session.
  const Births births{-2'000'000'000, -5, -5, -5, -1, -4, 0, 1, 70};
  Store store(2, births);
  for (const RecallRule rule : kRecallRules) {
    if (rule == RecallRule::none) continue;
    RecallInput input;
    input.chunks = {-2};
    const auto layers =
        store.recall({rule}, input, [](std::int64_t chunk) { return chunk == -2 ? 1.0 : 0.0; });
    for (const auto& rows : layers) {
      std::set<std::uint32_t> ids;
      for (const RecalledRow& row : rows) ids.insert(row.id.row);
      EXPECT_EQ(ids.size(), 6u) << recall_rule_name(rule);
      if (rule == RecallRule::oracle || rule == RecallRule::words) {
        EXPECT_TRUE(ids.contains(1) && ids.contains(2) && ids.contains(3)) << recall_rule_name(rule);
      }
    }
  }
  store.recall({RecallRule::consensus});
  EXPECT_TRUE(store.votes.contains(-500'000'000) && store.votes.contains(-2) && store.votes.contains(-1));
  EXPECT_LT(store.votes.chunks.size(), 30u);  // ages far apart cost nothing
}

TEST(Recall, RecordedRowsComeBackEachOnce) {
  Store store(1, {-5, -5, -5, 2});
  const auto rows = [&](const std::unique_ptr<Recall>& how) {
    std::vector<std::uint32_t> ids;
    for (const RecalledRow& row : how->rows(store.queue, store.memory, 0, {}).rows) ids.push_back(row.id.row);
    return ids;
  };
  EXPECT_EQ(rows(recall_births({{-5, -5, 2, 99}})), (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(rows(recall_ordinals({{1, 2, 3, 99}})), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(rows(recall_births({{2, 2}})), (std::vector<std::uint32_t>{3, 3}));  // as recorded
}

// A store at its cap, in several segments: what has expired is neither scored nor recalled by any rule.
TEST(Recall, ExpiredRowsAreNotThere) {
  Layout layout = layout_of(2);
  layout.M = 40;
  Memory memory(layout, 3);
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(kK) * 8);
  for (int update = 0; update < 60; ++update) {
    for (float& v : values) v = normal(random);
    const NewRows rows{values.data(), values.data(), values.data(), values.data(), kK};
    memory.update(std::vector<NewRows>(2, rows));
  }
  Store other(2, counted(8));
  for (std::int64_t l = 0; l < 2; ++l) {
    Births living;
    memory.long_term().for_each(l, [&](RowId, std::int64_t birth) { living.push_back(birth); });
    ASSERT_EQ(living.size(), 40u);
    EXPECT_EQ(list_long_term(memory, l).living_births(), living);
    EXPECT_EQ(
        score_long_term(other.queue, memory, l, other.scout[static_cast<std::size_t>(l)]).living_births(),
        living);
    // The forty oldest of those that came last: nothing younger has gone before something older.
    const std::int64_t oldest = *std::min_element(living.begin(), living.end());
    EXPECT_EQ(memory.long_term().expiry(l).birth, oldest);
  }
  for (const RecallRule rule : kRecallRules) {
    const auto how = make_recall({rule}, input_of(rule));
    how->plan(
        other.queue, memory,
        how->wants_scout() ? std::span<const LayerQueries>(other.scout) : std::span<const LayerQueries>(),
        nullptr);
    for (std::int64_t l = 0; l < 2; ++l)
      for (const RecalledRow& row :
           how->rows(other.queue, memory, l, other.scout[static_cast<std::size_t>(l)]).rows)
        EXPECT_TRUE(memory.long_term().alive(l, memory.long_term().segments()[row.id.segment], row.id.row));
  }
}

TEST(Recall, ChunksPartlyForgottenGiveWhatIsLeft) {
  Store store({{0, 5, 6, 7, 8, 9, 10, 11}, {1, 2, 3, 4, 12}}, 20);
  RecallInput input;
  input.chunks = {1};
  const auto layers = births_of(store.recall({RecallRule::oracle}, input));
  const Births middle{5, 6, 7};
  EXPECT_TRUE(std::includes(layers[0].begin(), layers[0].end(), middle.begin(), middle.end()));
  EXPECT_EQ(layers[1], (Births{1, 2, 3, 4, 12}));
}

TEST(Recall, HybridIsTheSumOfBothStandardised) {
  Store store(3, counted(40));
  store.recall({RecallRule::consensus});
  const Votes votes = store.votes;
  const Prior prior = [](std::int64_t chunk) { return chunk == 4 ? 3.0 : chunk == 6 ? 1.0 : 0.0; };
  const auto standardised = [](std::vector<double> x) {
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    for (double& v : x) v = (v - mean) / (std::sqrt(variance) + 1e-6);
    return x;
  };
  std::vector<double> vote, words;
  for (std::int64_t chunk = 0; chunk < 10; ++chunk) {  // those of the store; 20 updates are known
    vote.push_back(votes[chunk]);
    words.push_back(prior(chunk));
  }
  vote = standardised(vote);
  words = standardised(words);
  for (const double weight : {0.0, 0.5, 1.0, 4.0}) {
    store.recall({.rule = RecallRule::hybrid, .words_weight = weight}, {}, prior);
    for (std::size_t c = 0; c < 10; ++c)
      EXPECT_NEAR(store.votes[static_cast<std::int64_t>(c)], vote[c] + weight * words[c], 1e-12);
    EXPECT_EQ(store.votes[15], 0.0);
  }
  const auto by_words = births_of(store.recall({RecallRule::words}, {}, prior));
  EXPECT_EQ(by_words[0],
            (Births{16, 17, 18, 19, 24, 25}));  // chunk 4, then 6: the older rows, without scores
}

TEST(Recall, ChanceFollowsTheSeed) {
  Store store(2, counted(200));
  const auto draw = [&](std::uint64_t seed) {
    RecallInput input;
    input.seed = seed;
    return births_of(store.recall({RecallRule::random}, input));
  };
  EXPECT_EQ(draw(5), draw(5));
  EXPECT_NE(draw(5), draw(6));
  EXPECT_NE(draw(5)[0], draw(5)[1]);  // layers draw apart
  double mean = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Births drawn = draw(seed)[0];
    for (const std::int64_t birth : drawn) mean += static_cast<double>(birth) / (200 * kK0);
  }
  EXPECT_NEAR(mean, 99.5, 5 * 57.7 / std::sqrt(200.0 * kK0));  // five standard errors of a uniform draw
}

// The mean over heads and tokens of query · key, written out.
TEST(Recall, AttentionIsTheMeanProduct) {
  Store store(2, counted(40));
  const std::vector<float> scores = attention_long_term(store.memory, 1, store.scout[1]).living_scores();
  const RowsView view = store.memory.long_term().segments()[0].rows(1);
  for (std::size_t r = 0; r < scores.size(); ++r) {
    double mean = 0;
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t h = 0; h < 4; ++h)
        for (std::size_t i = 0; i < 2; ++i)
          mean += double{store.attention[1][t * 8 + h * 2 + i]} *
                  double{reinterpret_cast<const float*>(view.k)[r * 4 + h / 2 * 2 + i]} / 12;
    EXPECT_NEAR(scores[r], mean, 1e-6);
  }
  const auto taken = store.recall({RecallRule::attention})[1];
  EXPECT_EQ(births_of(taken).size(), 6u);
  const float least =
      std::min_element(taken.begin(), taken.end(), [](auto& a, auto& b) { return a.score < b.score; })->score;
  EXPECT_EQ(std::count_if(scores.begin(), scores.end(), [&](float s) { return s >= least; }), 6);
}

// One vector a chunk: the cosine of the pooled queries and the mean keys, all layers end to end.
TEST(Recall, VectorIsTheCosineOverAllLayers) {
  Store store(3, counted(40));
  store.recall({RecallRule::vector});
  for (std::int64_t chunk = 0; chunk < 10; ++chunk) {
    double product = 0, query_norm = 0, chunk_norm = 0;
    for (std::size_t l = 0; l < 3; ++l) {
      const auto* keys = reinterpret_cast<const float*>(
          store.memory.long_term().segments()[0].rows(static_cast<std::int64_t>(l)).key);
      for (std::int64_t i = 0; i < kWidth; ++i) {
        double q = 0, k = 0;
        for (std::int64_t t = 0; t < 3; ++t)
          q += double{store.pool[static_cast<std::size_t>(t)]} *
               double{store.queries[l][static_cast<std::size_t>(t * kWidth + i)]};
        for (std::int64_t r = 0; r < kK; ++r) k += double{keys[(chunk * kK + r) * kWidth + i]} / kK;
        product += q * k;
        query_norm += q * q;
        chunk_norm += k * k;
      }
    }
    EXPECT_NEAR(store.votes[chunk], product / std::sqrt(query_norm * chunk_norm), 1e-9);
  }
}

}  // namespace
}  // namespace mplus::memory
