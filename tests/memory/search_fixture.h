// Memories with keys made up by a seed, and questions to them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "mplus/core/thread_pool.h"
#include "mplus/memory/recall/recall.h"
#include "mplus/memory/recall/search/search.h"

namespace mplus::memory {

inline constexpr std::int64_t kLayers = 3, kWidth = 8, kK = 8, kAll = 1'000'000;

inline Layout layout_of(DType dtype = DType::f32, std::int64_t M = kUnlimited, const LayerSet& layers = {}) {
  return {.layers = kLayers,
          .hidden = 2,
          .kv = 4,
          .retriever = kWidth,
          .K = kK,
          .N = 3 * kK,
          .K0 = 10,
          .M = M,
          .dtype = dtype,
          .remembering = layers};
}

struct Question {
  explicit Question(unsigned seed, const LayerSet& layers = {}) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (auto& layer : queries) {
      layer.resize(5 * kWidth);
      for (float& x : layer) x = normal(random);
      const bool asks = layers.contains(std::ssize(scout));
      scout.push_back({.T = 5, .retriever = asks ? layer.data() : nullptr});
    }
  }
  std::array<std::vector<float>, kLayers> queries;
  std::vector<LayerQueries> scout;
};

// Keys of an update's rows follow from its number and a seed; neighbours are alike.
inline void write(Memory& memory, unsigned seed, std::int64_t updates) {
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
      if (memory.layout().remembering.contains(static_cast<std::int64_t>(l)))
        rows.push_back({others[l].data(), others[l].data(), others[l].data(), keys[l].data(), kK});
    }
    memory.update(rows);
  }
}

inline Memory written(std::int64_t updates, const Layout& layout = layout_of(), unsigned seed = 1) {
  Memory memory(layout, 5);
  write(memory, seed, updates);
  return memory;
}

class SearchTest : public ::testing::Test {
 protected:
  struct Result {
    std::vector<std::vector<RecalledRow>> rows;
    Votes votes;
    std::vector<std::optional<std::vector<std::int64_t>>> seen;  // of short-term memory
  };

  static RecallPolicy policy(std::int64_t keep, std::int64_t sample, std::int64_t top = 0) {
    RecallPolicy how;
    how.vote_top = top;
    how.search = {
        .search = Search::two_level, .sample = sample, .keep = keep, .finish = keep, .sharpen = sample};
    return how;
  }
  static RecallInput given(std::vector<std::int64_t> chunks, bool window_first = false) {
    return {.layer_weights = {1, 0.5, 2}, .chunks = std::move(chunks), .window_first = window_first};
  }

  Result recall(const Memory& memory, RecallRule rule, RecallPolicy how, unsigned question = 1,
                std::vector<std::int64_t> chunks = {3}) {
    const Question asked(question, memory.layout().remembering);
    how.rule = rule;
    const auto recalled = make_recall(how, given(std::move(chunks)));
    const Prior prior = [](std::int64_t chunk) { return static_cast<double>(chunk * 7 % 5); };
    recalled->plan(queue, memory,
                   recalled->wants_scout() ? std::span<const LayerQueries>(asked.scout)
                                           : std::span<const LayerQueries>(),
                   &prior);
    Result result{.rows = {}, .votes = recalled->found()->votes, .seen = {}};
    for (std::int64_t l = 0; l < kLayers; ++l) {
      LayerRecall layer = recalled->rows(queue, memory, l, asked.scout[static_cast<std::size_t>(l)]);
      result.rows.push_back(std::move(layer.rows));
      result.seen.push_back(std::move(layer.short_term));
    }
    return result;
  }

  void expect_index_as_anew(const Memory& memory) {
    const auto index = memory.long_term().chunk_index(queue, memory.layout());
    EXPECT_TRUE(*index == ChunkIndex(queue, memory.layout(), memory.long_term(), nullptr))
        << memory.updates() << " updates";
  }

  ThreadPool threads{2};
  kernels::Queue queue{threads, kernels::Numerics::exact};
};

inline constexpr RecallRule kRules[] = {RecallRule::consensus, RecallRule::hybrid, RecallRule::words,
                                        RecallRule::oracle};

inline void expect_same(const std::vector<std::vector<RecalledRow>>& a,
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

}  // namespace mplus::memory
