// Updates that move their values later, slots that stay where they are, forks and rewriting, by turns,
// against lists of rows that say the same plainly.
#include "mplus/memory/settling.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "mplus/core/drops.h"
#include "mplus/memory/memory.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kLayers = 3, kHidden = 3, kKv = 4, kKey = 2, kK = 4, kN = 11;
constexpr std::uint64_t kSeed = 9;

Layout layout_of(bool keep_hidden) {
  return {.layers = kLayers,
          .hidden = kHidden,
          .kv = kKv,
          .retriever = kKey,
          .K = kK,
          .N = kN,
          .dtype = DType::f32,
          .keep_hidden = keep_hidden};
}

struct Row {
  std::int64_t birth = 0;
  float value = 0;  // k holds it, v its negative, the retriever key and the hidden state one and two more
};

// Rows of one layer that somebody keeps.
NewRows new_rows(std::span<const Row> rows) {
  const auto n = rows.size();
  auto values = std::make_shared<std::vector<float>>();
  const auto column = [&](std::int64_t width, float sign, float more) {
    for (const Row& row : rows)
      values->insert(values->end(), static_cast<std::size_t>(width), sign * row.value + more);
    return values->size() - n * static_cast<std::size_t>(width);
  };
  const std::size_t k = column(kKv, 1, 0), v = column(kKv, -1, 0), key = column(kKey, 1, 1),
                    hidden = column(kHidden, 1, 2);
  return {.hidden = values->data() + hidden,
          .k = values->data() + k,
          .v = values->data() + v,
          .key = values->data() + key,
          .n = static_cast<std::int64_t>(n),
          .hidden_memory = values,
          .memory = values};
}

void expect_row(const Layout& layout, const RowsView& rows, std::int64_t r, const Row& wanted) {
  ASSERT_EQ(rows.birth[r], wanted.birth);
  ASSERT_EQ(reinterpret_cast<const float*>(rows.k_row(layout, r))[kKv - 1], wanted.value);
  ASSERT_EQ(reinterpret_cast<const float*>(rows.v_row(layout, r))[0], -wanted.value);
  ASSERT_EQ(reinterpret_cast<const float*>(rows.key_row(layout, r))[kKey - 1], wanted.value + 1);
  if (layout.keep_hidden) {
    ASSERT_EQ(rows.hidden_row(layout, r)[kHidden - 1], wanted.value + 2);
  }
}

// A memory, and what should be in it.
struct Pair {
  explicit Pair(bool keep_hidden) : memory(layout_of(keep_hidden), kSeed) {}

  void update(std::mt19937& random, float& value, kernels::Queue* queue) {
    const auto n = static_cast<std::int64_t>(1 + random() % kK);
    const bool recorded = random() % 3 == 0;
    if (random() % 2 == 0) memory.get_ready(n, queue ? &queue->pool() : nullptr);
    Drops drops(kLayers);
    std::vector<NewRows> rows;
    tail.clear();
    for (std::size_t l = 0; l < kLayers; ++l) {
      const auto size = std::ssize(slots[l]), count = std::max<std::int64_t>(0, size + n - kN);
      drops[l] =
          choose_drops(recorded ? 77 : kSeed, static_cast<std::int64_t>(l), memory.updates(), size, count);
      for (const std::int64_t slot : drops[l]) store[l].push_back(slots[l][static_cast<std::size_t>(slot)]);
      for (std::size_t i = drops[l].size(); i-- > 0;) slots[l].erase(slots[l].begin() + drops[l][i]);
      std::vector<Row> fresh;
      for (std::int64_t i = 0; i < n; ++i) fresh.push_back({memory.updates() * kK + kK - n + i, value++});
      slots[l].insert(slots[l].end(), fresh.begin(), fresh.end());
      tail.push_back(fresh.back().value + 2);
      rows.push_back(new_rows(fresh));
    }
    memory.update(rows, recorded ? &drops : nullptr, queue);
  }

  void rewrite(std::mt19937& random, float& value) {
    Rewriting rewriting(memory.layout());
    std::map<std::int64_t, std::vector<Row>> instead[kLayers];
    for (std::int64_t chunk = 0; chunk < memory.updates(); ++chunk) {
      if (random() % 5 != 0) continue;
      const auto n = static_cast<std::int64_t>(1 + random() % kK);
      std::vector<NewRows> rows;
      for (auto& layer : instead) {
        for (std::int64_t i = 0; i < n; ++i) layer[chunk].push_back({chunk * kK + kK - n + i, value++});
        rows.push_back(new_rows(layer[chunk]));
        if (chunk + 1 == memory.updates()) tail[rows.size() - 1] = layer[chunk].back().value + 2;
      }
      rewriting.put(chunk, rows);
    }
    memory.rewrite(rewriting);
    for (std::size_t l = 0; l < kLayers; ++l)
      for (auto* list : {&slots[l], &store[l]})
        std::erase_if(*list, [&](Row& row) {
          const auto chunk = instead[l].find(row.birth / kK);
          if (chunk == instead[l].end()) return false;
          for (const Row& other : chunk->second)
            if (other.birth == row.birth) row.value = other.value;
          return row.birth < chunk->second.front().birth;
        });
  }

  void check() const {
    for (std::int64_t l = 0; l < kLayers; ++l) {
      const auto& expected = slots[static_cast<std::size_t>(l)];
      const RowsView rows = memory.short_term(l);
      ASSERT_EQ(rows.n, std::ssize(expected));
      for (std::int64_t r = 0; r < rows.n; ++r)
        expect_row(memory.layout(), rows, r, expected[static_cast<std::size_t>(r)]);
      std::size_t at = 0;
      const auto& stored = store[static_cast<std::size_t>(l)];
      ASSERT_EQ(memory.long_term().size(l), std::ssize(stored));
      memory.long_term().for_each(l, [&](RowId id, std::int64_t) {
        expect_row(memory.layout(), memory.long_term().rows_of(l, id), id.row, stored[at++]);
      });
      if (!tail.empty()) {
        ASSERT_EQ(memory.tail(l).back(), tail[static_cast<std::size_t>(l)]);
      }
    }
  }

  Memory memory;
  std::vector<Row> slots[kLayers], store[kLayers];
  std::vector<float> tail;
};

class SettlingTest : public ::testing::TestWithParam<bool> {
 protected:
  ThreadPool pool{3};
  kernels::Queue queue{pool, kernels::Numerics::exact};
  std::mt19937 random{5};
  float value = 1;
};
INSTANTIATE_TEST_SUITE_P(HiddenStates, SettlingTest, ::testing::Bool());

TEST_P(SettlingTest, WhateverIsDoneInWhateverOrder) {
  std::vector<Pair> pairs(1, Pair(GetParam()));
  for (int step = 0; step < 800; ++step) {
    Pair& pair = pairs[random() % pairs.size()];
    switch (random() % 12) {
      case 0:
        if (pairs.size() < 4) pairs.push_back(Pair(pair));
        else pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(random() % pairs.size()));
        break;
      case 1:
        pair.memory.settle(random() % 2 == 0 ? &pool : nullptr);
        break;
      case 2:
        pair.rewrite(random, value);
        break;
      case 3:
        ASSERT_NO_FATAL_FAILURE(pair.check()) << "step " << step;
        break;
      default:
        pair.update(random, value, random() % 2 == 0 ? &queue : nullptr);
    }
  }
  for (const Pair& pair : pairs) ASSERT_NO_FATAL_FAILURE(pair.check());
}

// Forks of a memory whose last update is not settled, each read by a thread of its own.
TEST_P(SettlingTest, ManyMayReadAtOnce) {
  for (int round = 0; round < 20; ++round) {
    Pair pair(GetParam());
    for (int u = 0; u < 8; ++u) pair.update(random, value, &queue);
    const std::vector<Pair> forks(3, pair);
    std::vector<std::thread> readers;
    for (const Pair& fork : forks) {
      readers.emplace_back([&] { fork.check(); });
      readers.emplace_back([&] { pair.check(); });
    }
    for (std::thread& reader : readers) reader.join();
  }
}

TEST_P(SettlingTest, ValuesAreKeptUntilTheyAreMovedAndNoLonger) {
  Memory memory(layout_of(GetParam()), kSeed);
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < kK; ++i) rows.push_back({i, static_cast<float>(i)});
  const NewRows layer = new_rows(rows);
  const std::vector<NewRows> layers(kLayers, layer);
  const auto uses = [&] { return layer.memory.use_count(); };
  const auto before = uses();
  memory.update(layers);
  EXPECT_GT(uses(), before + kLayers) << "the tail's and the rows'";
  memory.settle();
  EXPECT_EQ(uses(), before + kLayers) << "the tail's";
}

}  // namespace
}  // namespace mplus::memory
