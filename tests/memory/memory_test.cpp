#include "mplus/memory/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "mplus/core/drops.h"
#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"

#include "tests/memory/same_rows.h"

namespace mplus::memory {
namespace {

Layout small_layout(std::int64_t M = kUnlimited) {
  return {.layers = 3,
          .hidden = 6,
          .kv = 4,
          .retriever = 2,
          .K = 4,
          .N = 10,
          .K0 = 5,
          .M = M,
          .dtype = DType::f32,
          .keep_hidden = true};
}

// Rows whose values tell who they are: 1000·layer + birth, and a half more where they were written again.
struct Update {
  std::vector<std::vector<float>> hidden, k, v, key;
  std::vector<NewRows> rows;

  Update(const Layout& layout, std::int64_t update, std::int64_t n, float more = 0) {
    for (std::int64_t l = 0; l < layout.layers; ++l) {
      const auto fill = [&](std::vector<std::vector<float>>& to, std::int64_t width) {
        auto& values = to.emplace_back();
        for (std::int64_t r = 0; r < n; ++r)
          for (std::int64_t i = 0; i < width; ++i)
            values.push_back(more + static_cast<float>(1000 * l + update * layout.K + layout.K - n + r));
      };
      fill(hidden, layout.hidden);
      fill(k, layout.kv);
      fill(v, layout.kv);
      fill(key, layout.retriever);
    }
    for (std::size_t l = 0; l < hidden.size(); ++l)
      rows.push_back({hidden[l].data(), k[l].data(), v[l].data(), key[l].data(), n});
  }
};

void write(Memory& memory, std::int64_t n = 4) {
  const Update update(memory.layout(), memory.updates(), n);
  memory.update(update.rows);
}

std::vector<std::int64_t> births(const RowsView& rows) { return {rows.birth, rows.birth + rows.n}; }

std::vector<std::int64_t> store_births(const Memory& memory, std::int64_t layer) {
  std::vector<std::int64_t> result;
  memory.long_term().for_each(layer, [&](RowId, std::int64_t birth) { result.push_back(birth); });
  return result;
}

void expect_rows_say_who_they_are(const Layout& layout, std::int64_t layer, const RowsView& rows,
                                  std::int64_t r, float more = 0) {
  const auto value = more + static_cast<float>(1000 * layer + rows.birth[r]);
  EXPECT_EQ(reinterpret_cast<const float*>(rows.k_row(layout, r))[1], value);
  EXPECT_EQ(reinterpret_cast<const float*>(rows.v_row(layout, r))[3], value);
  EXPECT_EQ(reinterpret_cast<const float*>(rows.key_row(layout, r))[0], value);
  EXPECT_EQ(rows.hidden_row(layout, r)[5], value);
}

TEST(Memory, SlotsFillBeforeAnythingIsDropped) {
  Memory memory(small_layout(), 1);
  write(memory);
  write(memory);
  for (std::int64_t l = 0; l < 3; ++l) {
    EXPECT_EQ(births(memory.short_term(l)), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(memory.long_term().size(l), 0);
  }
  write(memory);  // 8 + 4 > 10: two go
  for (std::int64_t l = 0; l < 3; ++l) {
    EXPECT_EQ(memory.short_term(l).n, 10);
    EXPECT_EQ(memory.long_term().size(l), 2);
  }
}

// The law: in every layer each row written is in exactly one place, in order, with its own values.
TEST(Memory, NothingIsLostUnderTheCap) {
  Memory memory(small_layout(), 42);
  for (int u = 0; u < 300; ++u) write(memory);
  for (std::int64_t l = 0; l < 3; ++l) {
    const RowsView slots = memory.short_term(l);
    auto all = births(slots);
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
    const auto stored = store_births(memory, l);
    EXPECT_EQ(static_cast<std::int64_t>(stored.size()), memory.long_term().size(l));
    all.insert(all.end(), stored.begin(), stored.end());
    EXPECT_EQ(all.size(), 1200u);
    EXPECT_EQ(std::set<std::int64_t>(all.begin(), all.end()).size(), 1200u);
    for (std::int64_t r = 0; r < slots.n; ++r) expect_rows_say_who_they_are(memory.layout(), l, slots, r);
    memory.long_term().for_each(l, [&](RowId id, std::int64_t) {
      expect_rows_say_who_they_are(memory.layout(), l, memory.long_term().rows_of(l, id), id.row);
    });
  }
  EXPECT_NE(store_births(memory, 0), store_births(memory, 1)) << "layers draw for themselves";
}

TEST(Memory, OverTheCapExactlyTheOldestAreLost) {
  Memory unlimited(small_layout(), 5);
  Memory capped(small_layout(37), 5);
  for (int u = 0; u < 120; ++u) {
    write(unlimited);
    write(capped);
    for (std::int64_t l = 0; l < 3; ++l) {
      EXPECT_EQ(births(capped.short_term(l)), births(unlimited.short_term(l)));
      auto expected = store_births(unlimited, l);
      std::sort(expected.begin(), expected.end());
      if (expected.size() > 37) expected.erase(expected.begin(), expected.end() - 37);
      auto found = store_births(capped, l);
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found, expected) << "update " << u << " layer " << l;
    }
  }
  EXPECT_LT(capped.long_term().segments().size(), unlimited.long_term().segments().size() + 1);
}

TEST(Memory, ShortUpdatesTakeTheHighestBirthsOfTheirBlock) {
  Memory memory(small_layout(), 1);
  write(memory, 2);
  write(memory, 3);
  EXPECT_EQ(births(memory.short_term(1)), (std::vector<std::int64_t>{2, 3, 5, 6, 7}));
  EXPECT_EQ(memory.tail_rows(), 3);
  EXPECT_EQ(memory.tail(2)[0], 2005.0f);
}

TEST(Memory, RecordedDropsReplaceTheDraw) {
  Memory memory(small_layout(), 1);
  write(memory);
  write(memory);
  const Update update(memory.layout(), 2, 4);
  const Drops drops{{0, 7}, {1, 2}, {3, 4}};
  memory.update(update.rows, &drops);
  EXPECT_EQ(store_births(memory, 0), (std::vector<std::int64_t>{0, 7}));
  EXPECT_EQ(store_births(memory, 1), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(births(memory.short_term(2)), (std::vector<std::int64_t>{0, 1, 2, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Memory, LayersMayShareTheirDrops) {
  Layout layout = small_layout();
  layout.drop_per_layer = false;
  Memory memory(layout, 9);
  for (int u = 0; u < 20; ++u) write(memory);
  EXPECT_EQ(store_births(memory, 0), store_births(memory, 1));
  EXPECT_EQ(store_births(memory, 0), store_births(memory, 2));
}

// A fork shares what was there and goes its own way; neither sees what the other writes.
TEST(Memory, ForksGoTheirOwnWay) {
  Memory original(small_layout(), 3);
  for (int u = 0; u < 30; ++u) write(original);
  Memory alone(small_layout(), 3);
  for (int u = 0; u < 30; ++u) write(alone);
  Memory fork = original;
  EXPECT_EQ(fork.long_term().segments()[0].segment, original.long_term().segments()[0].segment);
  for (int u = 0; u < 15; ++u) write(fork);
  for (std::int64_t l = 0; l < 3; ++l) {
    EXPECT_EQ(store_births(original, l), store_births(alone, l));
    EXPECT_EQ(births(original.short_term(l)), births(alone.short_term(l)));
  }
  for (int u = 0; u < 15; ++u) write(original);
  for (std::int64_t l = 0; l < 3; ++l) {
    EXPECT_EQ(store_births(original, l), store_births(fork, l));
    EXPECT_EQ(births(original.short_term(l)), births(fork.short_term(l)));
    fork.long_term().for_each(l, [&](RowId id, std::int64_t) {
      expect_rows_say_who_they_are(fork.layout(), l, fork.long_term().rows_of(l, id), id.row);
    });
  }
}

// Updates with and without threads, while a fork keeps what there was: the same rows in the same places.
TEST(Memory, ThreadsChangeNothing) {
  const Layout layout = small_layout(7);
  Memory alone(layout, 5), shared(layout, 5);
  ThreadPool threads(3);
  kernels::Queue queue(threads, kernels::Numerics::exact);
  for (std::int64_t u = 0; u < 30; ++u) {
    const Memory fork = shared;
    const Update update(layout, u, 1 + u % layout.K);
    alone.update(update.rows);
    shared.update(update.rows, nullptr, &queue);
  }
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const RowsView a = alone.short_term(l), b = shared.short_term(l);
    EXPECT_TRUE(same_rows(layout, a, b));
    std::vector<std::int64_t> stored, same;
    alone.long_term().for_each(l, [&](RowId, std::int64_t birth) { stored.push_back(birth); });
    shared.long_term().for_each(l, [&](RowId, std::int64_t birth) { same.push_back(birth); });
    EXPECT_EQ(stored, same);
    EXPECT_GT(stored.size(), 0u);
  }
}

TEST(Memory, EqualBirthsExpireInStoreOrder) {
  const Layout layout = small_layout(3);
  auto owned = std::make_shared<std::vector<Rows>>();
  std::vector<RowsView> views;
  for (std::int64_t l = 0; l < 3; ++l) {
    Rows& rows = owned->emplace_back(layout, 5);
    const Update update(layout, 0, 4);
    for (std::int64_t r = 0; r < 4; ++r) {
      NewRows one = update.rows[static_cast<std::size_t>(l)];
      one.n = 1;
      rows.append(layout, one, -7);
    }
    views.push_back(rows.view());
  }
  LongTermStore store(layout);
  store.adopt(std::make_shared<Segment>(views, owned), {4, 4, 4});
  store.enforce_capacity(layout);
  std::vector<std::uint32_t> left;
  store.for_each(0, [&](RowId id, std::int64_t) { left.push_back(id.row); });
  EXPECT_EQ(left, (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(Memory, ForgettingTakesExactlyTheChunksRows) {
  for (const std::int64_t M : {kUnlimited, std::int64_t{25}}) {
    Memory memory(small_layout(M), 7);
    for (int u = 0; u < 14; ++u) write(memory);
    const Memory fork = memory;
    const std::set<std::int64_t> chunks{6, 9, 13};
    std::int64_t expected_gone = 0;
    const std::int64_t gone = memory.count(chunks).rows;
    memory.rewrite(Rewriting(memory.layout(), chunks));
    EXPECT_EQ(memory.count(chunks).rows, 0);
    EXPECT_EQ(memory.count(chunks).segments, 0);
    for (std::int64_t l = 0; l < 3; ++l) {
      const auto without = [&](std::vector<std::int64_t> all) {
        std::erase_if(all, [&](std::int64_t b) { return chunks.count(chunk_of(b, 4)) > 0; });
        return all;
      };
      EXPECT_EQ(births(memory.short_term(l)), without(births(fork.short_term(l))));
      EXPECT_EQ(store_births(memory, l), without(store_births(fork, l)));
      EXPECT_EQ(memory.long_term().size(l), static_cast<std::int64_t>(store_births(memory, l).size()));
      expected_gone += fork.short_term(l).n + fork.long_term().size(l) - memory.short_term(l).n -
                       memory.long_term().size(l);
      memory.long_term().for_each(l, [&](RowId id, std::int64_t) {
        expect_rows_say_who_they_are(memory.layout(), l, memory.long_term().rows_of(l, id), id.row);
      });
      for (const SegmentUse& use : memory.long_term().segments())  // expired rows of the chunks as well
        for (std::int64_t r = 0; r < use.used[static_cast<std::size_t>(l)]; ++r)
          EXPECT_EQ(chunks.count(chunk_of(use.rows(l).birth[r], 4)), 0u);
    }
    EXPECT_EQ(gone, expected_gone);
    EXPECT_GT(gone, 0);
    EXPECT_EQ(memory.tail_rows(), 0);  // update 13 was the last
    EXPECT_EQ(fork.tail_rows(), 4);
    for (int u = 0; u < 20; ++u) write(memory);  // fills up again and goes on
    for (std::int64_t l = 0; l < 3; ++l) EXPECT_EQ(memory.short_term(l).n, 10);
  }
}

TEST(Memory, RowsWrittenAgainStandWhereTheOthersStood) {
  for (const std::int64_t M : {kUnlimited, std::int64_t{25}}) {
    Memory memory(small_layout(M), 7);
    for (int u = 0; u < 14; ++u) write(memory);
    const Memory fork = memory;
    const std::map<std::int64_t, std::int64_t> chunks{{6, 0}, {8, 4}, {9, 2}, {13, 3}};  // and rows of each
    Rewriting rewriting(memory.layout(), {6});
    for (const auto& [chunk, n] : chunks)
      if (n > 0) rewriting.put(chunk, Update(memory.layout(), chunk, n, 0.5f).rows);
    EXPECT_FALSE(memory.equals(rewriting));
    memory.rewrite(rewriting);
    EXPECT_TRUE(memory.equals(rewriting));
    std::int64_t seen = 0;
    const auto expect_values = [&](std::int64_t l, const RowsView& rows, std::int64_t r) {
      const bool again = chunks.count(chunk_of(rows.birth[r], 4)) > 0;
      seen += again;
      expect_rows_say_who_they_are(memory.layout(), l, rows, r, again ? 0.5f : 0.0f);
    };
    for (std::int64_t l = 0; l < 3; ++l) {
      const auto left = [&](std::vector<std::int64_t> all) {
        std::erase_if(all, [&](std::int64_t b) {
          const auto chunk = chunks.find(chunk_of(b, 4));
          return chunk != chunks.end() && b % 4 < 4 - chunk->second;
        });
        return all;
      };
      EXPECT_EQ(births(memory.short_term(l)), left(births(fork.short_term(l))));
      EXPECT_EQ(store_births(memory, l), left(store_births(fork, l)));
      EXPECT_EQ(memory.long_term().size(l), static_cast<std::int64_t>(store_births(memory, l).size()));
      for (std::int64_t r = 0; r < memory.short_term(l).n; ++r) expect_values(l, memory.short_term(l), r);
      memory.long_term().for_each(
          l, [&](RowId id, std::int64_t) { expect_values(l, memory.long_term().rows_of(l, id), id.row); });
      fork.long_term().for_each(l, [&](RowId id, std::int64_t) {
        expect_rows_say_who_they_are(fork.layout(), l, fork.long_term().rows_of(l, id), id.row);
      });
      for (std::int64_t r = 0; r < fork.short_term(l).n; ++r)
        expect_rows_say_who_they_are(fork.layout(), l, fork.short_term(l), r);
      ASSERT_EQ(memory.tail(l).size(), 3u * 6);  // update 13 was the last
      EXPECT_EQ(memory.tail(l)[0], 0.5f + static_cast<float>(1000 * l + 53));
    }
    EXPECT_GT(seen, 9);
    for (int u = 0; u < 20; ++u) write(memory);
    for (std::int64_t l = 0; l < 3; ++l) EXPECT_EQ(memory.short_term(l).n, 10);
  }
}

TEST(Memory, SegmentsMadeAnewHoldTheSameRows) {
  Memory memory(small_layout(25), 3);
  for (int u = 0; u < 30; ++u) write(memory);
  const Memory before = memory;
  std::vector<LongTermStore::Replacement> by;
  const std::size_t count = memory.long_term().segments().size();
  for (std::int64_t begin = 0; begin < 25; begin += 10) {
    auto rows =
        std::make_shared<std::vector<Rows>>(memory.long_term().gather(memory.layout(), 0, count, begin, 10));
    std::vector<RowsView> views;
    std::vector<std::int64_t> sizes;
    for (const Rows& layer : *rows) {
      views.push_back(layer.view());
      sizes.push_back(layer.size());
    }
    EXPECT_EQ(sizes[0], begin == 20 ? 5 : 10);
    by.push_back({std::make_shared<Segment>(views, rows), sizes});
  }
  memory.replace_segments(0, count, std::move(by));
  Memory original = before;
  for (int u = 0; u <= 12; ++u) {
    for (std::int64_t l = 0; l < 3; ++l) {
      EXPECT_EQ(store_births(memory, l), store_births(original, l)) << u;
      EXPECT_EQ(memory.long_term().size(l), original.long_term().size(l));
    }
    write(memory);
    write(original);
  }
}

// Over its budget a memory stays what it was, and goes on where there is room again.
TEST(Memory, AnUpdateOverTheBudgetChangesNothing) {
  Memory memory(small_layout(), 9), other(small_layout(), 9);
  for (int u = 0; u < 2; ++u) {
    write(memory);
    write(other);
  }
  const auto before = host_budget().used();
  for (const bool shared : {false, true}) {  // a new segment; then slots that a fork shares
    const std::optional<Memory> fork = shared ? std::optional(memory) : std::nullopt;
    host_budget().limit(before + 1);
    EXPECT_THROW(write(memory), Error);
    EXPECT_THROW(Memory(small_layout(), 1), Error);
    host_budget().limit(0);
    EXPECT_EQ(memory.updates(), 2 + (shared ? 1 : 0));
    for (std::int64_t l = 0; l < 3; ++l) {
      EXPECT_EQ(births(memory.short_term(l)), births(other.short_term(l)));
      EXPECT_EQ(store_births(memory, l), store_births(other, l));
    }
    write(memory);
    write(other);
    for (std::int64_t l = 0; l < 3; ++l) EXPECT_EQ(store_births(memory, l), store_births(other, l));
  }
  EXPECT_GT(host_budget().used(), before) << "a segment was made";
}

TEST(LongTermStore, ALoadedStoreExpiresAsTheSavedOne) {
  // Colliding births: the threshold's place among them counts.
  const Layout layout = small_layout(3);
  const std::vector<std::int64_t> same_births(5, -1);
  Memory memory(layout, 0);
  std::vector<Rows> rows;
  for (std::int64_t l = 0; l < 3; ++l) {
    const Update update(layout, 0, 4);
    rows.emplace_back(layout, 5);
    rows.back().append(layout, update.rows[static_cast<std::size_t>(l)], 0);
    rows.back().append(layout, rows.back().view(), 0);
  }
  std::vector<RowsView> views;
  for (const Rows& layer : rows) {
    views.push_back(layer.view());
    views.back().birth = same_births.data();
  }
  LongTermStore store(layout);
  const auto segment = std::make_shared<Segment>(views, nullptr);
  store.adopt(segment, {5, 5, 5});
  store.enforce_capacity(layout);
  EXPECT_EQ(store.size(0), 3);
  LongTermStore loaded(layout);
  for (std::int64_t l = 0; l < 3; ++l) loaded.set_expiry(l, store.loaded_expiry(l));
  loaded.adopt(segment, {5, 5, 5});
  EXPECT_EQ(loaded.size(0), 3);
  std::vector<std::uint32_t> alive;
  loaded.for_each(0, [&](RowId id, std::int64_t) { alive.push_back(id.row); });
  EXPECT_EQ(alive, (std::vector<std::uint32_t>{2, 3, 4}));
}

}  // namespace
}  // namespace mplus::memory
