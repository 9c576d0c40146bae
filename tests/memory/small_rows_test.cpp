// Long-term rows in few bits: made once, when a row is dropped, and then only copied.
#include <cstring>
#include <set>

#include "tests/memory/same_rows.h"
#include "tests/memory/search_fixture.h"

namespace mplus::memory {
namespace {

Layout small_layout(RowFormat format) {
  Layout layout = layout_of(DType::bf16);
  layout.long_term = format;
  return layout;
}

class SmallRows : public SearchTest {};

// Every row of b is the small row of the row with its birth in a, which kept them plain.
void expect_small_rows_of(const Memory& a, const Memory& b) {
  const Layout& layout = b.layout();
  for (std::int64_t l = 0; l < kLayers; ++l) {
    std::vector<RowId> plain;
    a.long_term().for_each(l, [&](RowId id, std::int64_t) { plain.push_back(id); });
    std::size_t at = 0;
    b.long_term().for_each(l, [&](RowId id, std::int64_t birth) {
      const RowId other = plain[at++];
      ASSERT_EQ(a.long_term().birth(l, other), birth);
      Rows wanted(layout, 1, layout.long_term);
      wanted.append(layout, a.long_term().rows_of(l, other), other.row);
      const RowsView rows = b.long_term().rows_of(l, id);
      ASSERT_EQ(rows.format, layout.long_term);
      ASSERT_EQ(std::memcmp(rows.k_row(layout, id.row), wanted.view().k, layout.kv_bytes(rows.format)), 0);
      ASSERT_EQ(std::memcmp(rows.v_row(layout, id.row), wanted.view().v, layout.kv_bytes(rows.format)), 0);
      ASSERT_EQ(std::memcmp(rows.key_row(layout, id.row), wanted.view().key, layout.key_bytes(rows.format)),
                0);
    });
    ASSERT_EQ(at, plain.size());
  }
}

TEST_F(SmallRows, AreMadeWhenARowIsDropped) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    const Memory plain = written(50, layout_of(DType::bf16)), small = written(50, small_layout(format));
    expect_small_rows_of(plain, small);
    for (std::int64_t l = 0; l < kLayers; ++l) {
      EXPECT_EQ(small.short_term(l).format, RowFormat::plain);
      EXPECT_TRUE(same_rows(plain.layout(), small.short_term(l), plain.short_term(l)));
    }
    EXPECT_LT(small.size_bytes(), plain.size_bytes());
  }
}

TEST_F(SmallRows, StayWhatTheyAreInSegmentsMadeAnew) {
  Memory memory = written(50, small_layout(RowFormat::int4));
  const Memory before = memory;
  const std::size_t count = memory.long_term().segments().size();
  auto rows =
      std::make_shared<std::vector<Rows>>(memory.long_term().gather(memory.layout(), 0, count, 0, kAll));
  std::vector<RowsView> views;
  std::vector<std::int64_t> sizes;
  for (const Rows& layer : *rows) {
    views.push_back(layer.view());
    sizes.push_back(layer.size());
  }
  std::vector<LongTermStore::Replacement> by;
  by.push_back({std::make_shared<Segment>(views, rows), sizes});
  memory.replace_segments(0, count, std::move(by));
  expect_small_rows_of(written(50, layout_of(DType::bf16)), memory);
  write(memory, 1, 10);  // goes on in a segment of its own
  expect_small_rows_of(written(60, layout_of(DType::bf16)), memory);
}

TEST_F(SmallRows, StandBesidePlainOnes) {
  Memory memory = written(30, layout_of(DType::bf16));
  memory.set_row_format(RowFormat::int8);
  write(memory, 1, 30);
  std::set<RowFormat> formats;
  for (const SegmentUse& use : memory.long_term().segments()) formats.insert(use.segment->format());
  EXPECT_EQ(formats, (std::set{RowFormat::plain, RowFormat::int8}));
  const Memory plain = written(60, layout_of(DType::bf16));
  for (std::int64_t l = 0; l < kLayers; ++l) EXPECT_EQ(memory.long_term().size(l), plain.long_term().size(l));
  // Both levels of a search go over both kinds.
  for (const RecallRule rule : kRules) {
    const Result kept = recall(memory, rule, policy(kAll, 0));
    RecallPolicy exact = policy(kAll, 0);
    exact.search.search = Search::exact;
    expect_same(kept.rows, recall(memory, rule, exact).rows);
  }
}

TEST_F(SmallRows, AreSearchedInTwoLevelsAsInOne) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    const Memory memory = written(50, small_layout(format));
    for (const RecallRule rule : kRules) {
      RecallPolicy exact = policy(kAll, 0);
      exact.search.search = Search::exact;
      expect_same(recall(memory, rule, policy(kAll, 0)).rows, recall(memory, rule, exact).rows);
    }
    expect_index_as_anew(memory);
  }
}

// Rows of a chunk that is written again are made small where small ones stood.
TEST_F(SmallRows, AreWrittenAgainAsSmallOnes) {
  Memory memory = written(30, small_layout(RowFormat::int8));
  const Memory before = memory;
  std::vector<float> values(kK * kWidth, 0.25f);
  const std::vector<NewRows> again(kLayers,
                                   NewRows{values.data(), values.data(), values.data(), values.data(), kK});
  Rewriting rewriting(memory.layout(), {2});
  rewriting.put(4, again);
  EXPECT_FALSE(memory.equals(rewriting));
  memory.rewrite(rewriting);
  Rewriting same(memory.layout());
  same.put(4, again);
  EXPECT_TRUE(memory.equals(same));
  for (std::int64_t l = 0; l < kLayers; ++l) {
    std::int64_t seen = 0;
    memory.long_term().for_each(l, [&](RowId id, std::int64_t birth) {
      const RowsView rows = memory.long_term().rows_of(l, id);
      EXPECT_EQ(rows.format, RowFormat::int8);
      EXPECT_NE(chunk_of(birth, kK), 2);
      if (chunk_of(birth, kK) != 4) return;
      ++seen;
      std::vector<float> k(4);
      rows.expand_k(memory.layout(), k.data(), id.row);
      for (const float x : k) EXPECT_NEAR(x, 0.25f, 0.25f / 64);
    });
    EXPECT_GT(seen, 0);
    EXPECT_LT(memory.long_term().size(l), before.long_term().size(l));
  }
}

}  // namespace
}  // namespace mplus::memory
