// Which rows expire, against the plain statement: all living rows in order, and the oldest go.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "mplus/memory/long_term.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kLayers = 3;

Layout layout_of(std::int64_t capacity) {
  return {.layers = kLayers,
          .hidden = 4,
          .kv = 4,
          .retriever = 2,
          .K = 10,
          .N = 100,
          .K0 = 5,
          .M = capacity,
          .dtype = DType::f32};
}

// A store beside a list of its living rows.
struct Both {
  LongTermStore store;
  std::vector<std::vector<Expiry>> living;
  std::vector<Expiry> expiry;

  explicit Both(const Layout& layout)
      : store(layout), living(static_cast<std::size_t>(kLayers)), expiry(static_cast<std::size_t>(kLayers)) {}

  void update(const Layout& layout, const std::vector<std::vector<std::int64_t>>& births, bool ready) {
    std::size_t most = 0;
    for (std::size_t l = 0; l < births.size(); ++l) {
      most = std::max(most, births[l].size());
      if (ready) store.get_ready(layout, static_cast<std::int64_t>(l), std::ssize(births[l]));
    }
    store.begin_append(layout, static_cast<std::int64_t>(most));
    for (std::size_t l = 0; l < births.size(); ++l) {
      std::int64_t ordinal = store.end_ordinal(static_cast<std::int64_t>(l));
      store.append(static_cast<std::int64_t>(l), births[l]);
      for (const std::int64_t birth : births[l])
        if (const Expiry row{birth, ordinal++}; row >= expiry[l]) living[l].push_back(row);
      std::sort(living[l].begin(), living[l].end());
      if (std::ssize(living[l]) <= layout.M) continue;
      living[l].erase(living[l].begin(), living[l].end() - layout.M);
      expiry[l] = living[l].front();
    }
    store.enforce_capacity(layout);
  }

  void expect_equal() const {
    for (std::size_t l = 0; l < living.size(); ++l) {
      const auto layer = static_cast<std::int64_t>(l);
      ASSERT_EQ(store.expiry(layer), expiry[l]);
      ASSERT_EQ(store.size(layer), std::ssize(living[l]));
      std::vector<Expiry> found;
      store.for_each(layer, [&](RowId id, std::int64_t birth) {
        found.push_back({birth, store.segments()[id.segment].first_ordinal[l] + id.row});
      });
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found, living[l]);
    }
  }
};

// Rows leave the slots at any age, some of the births collide, and layers drop different numbers.
class Drops {
 public:
  explicit Drops(unsigned seed) : random_(seed) {}

  std::vector<std::vector<std::int64_t>> next() {
    newest_ += 10;
    std::vector<std::vector<std::int64_t>> births(static_cast<std::size_t>(kLayers));
    for (auto& layer : births) {
      layer.resize(std::uniform_int_distribution<std::size_t>(0, 12)(random_));
      for (std::int64_t& birth : layer)
        birth = newest_ - std::geometric_distribution<std::int64_t>(.01)(random_);
      std::sort(layer.begin(), layer.end());
    }
    return births;
  }

 private:
  std::mt19937 random_;
  std::int64_t newest_ = 0;
};

TEST(OldestRows, AreThoseOfThePlainStatement) {
  for (const std::int64_t capacity : {1, 7, 100, 1500, 4000}) {
    const Layout layout = layout_of(capacity);
    Both both(layout);
    Drops drops(static_cast<unsigned>(capacity));
    for (int u = 0; u < 1200; ++u) {
      both.update(layout, drops.next(), u % 3 != 0);
      if (u % 10 == 0 || u < 30) both.expect_equal();
      if (testing::Test::HasFatalFailure()) FAIL() << "update " << u << " of a store of " << capacity;
    }
    EXPECT_GT(both.store.expiry(0).birth, 0) << "nothing expired";
  }
}

TEST(OldestRows, ForksKnowTheirOwn) {
  const Layout layout = layout_of(200);
  Both one(layout);
  Drops drops(3);
  for (int u = 0; u < 60; ++u) one.update(layout, drops.next(), true);
  Both other = one;
  Drops others(4);
  for (int u = 0; u < 60; ++u) one.update(layout, drops.next(), u % 2 == 0);
  for (int u = 0; u < 70; ++u) others.next();
  for (int u = 0; u < 60; ++u) other.update(layout, others.next(), u % 2 == 0);
  one.expect_equal();
  other.expect_equal();
}

// Segments made anew give their rows other numbers; births say what is left.
TEST(OldestRows, AreFoundAgainInSegmentsMadeAnew) {
  const Layout layout = layout_of(300);
  Both both(layout);
  Drops drops(5);
  for (int u = 0; u < 100; ++u) both.update(layout, drops.next(), true);
  LongTermStore renewed = both.store;
  const std::size_t count = renewed.segments().size();
  auto rows = std::make_shared<std::vector<Rows>>(renewed.gather(layout, 0, count, 0, layout.M));
  LongTermStore::Replacement by;
  std::vector<RowsView> views;
  for (const Rows& layer : *rows) {
    views.push_back(layer.view());
    by.rows.push_back(layer.size());
  }
  by.segment = std::make_shared<Segment>(views, rows);
  renewed.replace(0, count, {by});
  Both again = both;
  again.store = renewed;
  for (int u = 0; u < 50; ++u) {
    const auto births = drops.next();
    both.update(layout, births, true);
    again.update(layout, births, true);
    for (std::int64_t l = 0; l < kLayers; ++l) {
      std::vector<std::int64_t> a, b;
      both.store.for_each(l, [&](RowId, std::int64_t birth) { a.push_back(birth); });
      again.store.for_each(l, [&](RowId, std::int64_t birth) { b.push_back(birth); });
      ASSERT_EQ(a, b) << "update " << u << " layer " << l;
    }
  }
}

}  // namespace
}  // namespace mplus::memory
