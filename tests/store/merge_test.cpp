// Small segments that are put together beside what a session does.
#include <algorithm>
#include <set>

#include "mplus/store/damage/verify.h"
#include "mplus/store/segments/segment_merge.h"
#include "tests/store/stored_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

class MergeTest : public StoreTest {
 protected:
  // A session written in short visits: a segment each.
  void visits(unsigned n, unsigned first = 0) {
    for (unsigned visit = first; visit < first + n; ++visit) {
      Store store(folder_);
      StoredSession session(store, engine_, "notes", Access::write);
      session.remember(document(random_ids(kIds, visit), "text " + std::to_string(visit)));
    }
  }
  engine::Session in_one_go(unsigned n) {
    engine::Session plain(engine_, 0);
    for (unsigned visit = 0; visit < n; ++visit)
      plain.remember_ids(random_ids(kIds, visit), "text " + std::to_string(visit));
    return plain;
  }
  // Files of segments that no row names.
  static std::vector<std::string> loose(Store& store) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(store.folder() / "segments")) {
      Statement row = store.database().prepare("SELECT 1 FROM segments WHERE file = ?");
      if (!row.bind(entry.path().filename().string()).step()) found.push_back(entry.path().filename());
    }
    return found;
  }
  std::size_t segments(Store& store) {
    return store.segments(store.states(store.get("notes").id)[0].id).size();
  }

  const std::size_t kIds = static_cast<std::size_t>(engine_.chunk_tokens());  // an update each
};

memory::SegmentUse segment_of(std::int64_t rows, RowFormat format = RowFormat::int8) {
  const memory::Layout layout{.layers = 1, .hidden = 1, .kv = 1, .retriever = 1, .K = 1, .long_term = format};
  memory::SegmentUse use;
  use.segment = std::make_shared<memory::Segment>(layout, 1);
  use.used = {rows};
  return use;
}

std::vector<std::int64_t> rows_of(const std::vector<memory::SegmentUse>& segments) {
  std::vector<std::int64_t> rows;
  for (const memory::SegmentUse& use : segments) rows.push_back(use.used[0]);
  return rows;
}

// A thousand visits of one update each: few segments are left, few rows are there twice, and none is written
// again often.
TEST(WorthMerging, FewSegmentsAtASmallPrice) {
  constexpr std::int64_t K = 128;
  std::vector<memory::SegmentUse> segments;
  std::int64_t all = 0, again = 0;
  for (int visit = 0; visit < 1000; ++visit) {
    if (const auto run = worth_merging(segments, K)) {
      const auto first = segments.begin() + static_cast<std::ptrdiff_t>(run->first);
      const auto end = first + static_cast<std::ptrdiff_t>(run->count);
      std::int64_t rows = 0;
      for (auto use = first; use != end; ++use) rows += use->used[0];
      ASSERT_GE(run->count, 2u);
      ASSERT_LE(rows, std::max(2 * K, std::min(kSegmentRows, all / 24)));
      again += rows;
      first->used = {rows};
      segments.erase(first + 1, end);
    }
    segments.push_back(segment_of(K));
    all += K;
    ASSERT_LE(std::ssize(segments), 48 + all / 1024) << "visit " << visit;
  }
  EXPECT_LE(again, 4 * all);
}

TEST(WorthMerging, KeepsOrderAndFormatsApart) {
  std::vector<memory::SegmentUse> segments;
  EXPECT_FALSE(worth_merging(segments, 128));
  segments = {segment_of(128, RowFormat::plain), segment_of(128, RowFormat::int8)};
  EXPECT_FALSE(worth_merging(segments, 128));
  segments.push_back(segment_of(128, RowFormat::int8));
  const auto run = worth_merging(segments, 128);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->first, 1u);
  EXPECT_EQ(run->count, 2u);
  segments = {segment_of(2048), segment_of(2048)};
  EXPECT_FALSE(worth_merging(segments, 128)) << "they are large enough";
  segments = {segment_of(200), segment_of(20)};
  EXPECT_FALSE(worth_merging(segments, 128))
      << "much would be written again for little: " << rows_of(segments)[0];
}

TEST_F(MergeTest, ASessionOfManyVisitsIsTheOneWrittenInOneGo) {
  constexpr unsigned kVisits = 60;
  visits(kVisits);
  Store store(folder_);
  const engine::Session plain = in_one_go(kVisits);
  StoredSession reader(store, engine_, "notes", Access::read);
  expect_same_session(reader.session(), plain);
  EXPECT_LT(segments(store), kVisits * 3 / 4) << "something was merged";
  EXPECT_EQ(loose(store), std::vector<std::string>{});
  VerifyReport report = verify_session(store, "notes");
  EXPECT_EQ(report.problems, std::vector<std::string>{});
}

// A merge that nobody takes leaves nothing: the session is closed without a state, or what it was made of has
// changed.
TEST_F(MergeTest, WhatIsNotUsedGoes) {
  visits(13);
  Store store(folder_);
  const std::size_t before = segments(store);
  {
    StoredSession session(store, engine_, "notes", Access::write);
    const auto& long_term = session.session().memory().long_term();
    const auto run = worth_merging(long_term.segments(), engine_.layout().K);
    ASSERT_TRUE(run);
    const fs::path path =
        store.segment_path(std::to_string(session.info().id) + "-0123456789abcdef.safetensors");
    { const SegmentMerge stopped(long_term, engine_.layout(), *run, path); }
    EXPECT_FALSE(fs::exists(path));
    SegmentMerge merge(long_term, engine_.layout(), *run, path);
    session.forget("text 3", true);  // its segments are others now
    EXPECT_FALSE(merge.take(session.session().memory().long_term()));
  }
  EXPECT_EQ(loose(store), std::vector<std::string>{});
  EXPECT_LE(segments(store), before);
}

// What is forgotten while a merge is under way is in no file afterwards.
TEST_F(MergeTest, ForgettingEndsAMerge) {
  for (const bool exact : {false, true}) {
    fs::remove_all(folder_);
    visits(12);
    Store store(folder_);
    StoredSession session(store, engine_, "notes", Access::write);
    session.remember(document(random_ids(kIds, 77), "last"));  // begins one
    session.forget("text 2", exact);
    EXPECT_EQ(loose(store), std::vector<std::string>{});
    VerifyReport report = verify_session(store, "notes");
    verify_by_replay(store, engine_, "notes", report);
    EXPECT_EQ(report.problems, std::vector<std::string>{});
    session.undo(1);
    EXPECT_EQ(loose(store), std::vector<std::string>{});
  }
}

// Rows that have expired since are in the file, so it is not used.
TEST_F(MergeTest, ExpiredRowsDoNotComeBack) {
  engine::EngineOptions options = tiny_options();
  options.memory.long_term_capacity = 40;
  engine::Engine engine(options);
  Store store(folder_);
  engine::Session plain(engine, 0);
  for (unsigned visit = 0; visit < 20; ++visit) {
    StoredSession session(store, engine, "notes", Access::write, {.state_every = 3});
    for (unsigned part = 0; part < 1 + visit % 3; ++part) {
      const auto ids = random_ids(kIds * (visit % 4 == 0 ? 9 : 1), visit * 10 + part);
      session.remember(document(ids, "text"));
      plain.remember_ids(ids, "text");
    }
    ASSERT_NO_FATAL_FAILURE(expect_same_session(session.session(), plain)) << visit;
    session.close();
    StoredSession reader(store, engine, "notes", Access::read);
    ASSERT_NO_FATAL_FAILURE(expect_same_session(reader.session(), plain)) << visit;
    ASSERT_EQ(loose(store), std::vector<std::string>{});
  }
}

// A segment that is damaged stays what it is: it is noticed when its rows are needed, not hidden in a new
// file.
TEST_F(MergeTest, DamageIsNotMerged) {
  visits(13);
  Store store(folder_);
  StoredSession session(store, engine_, "notes", Access::read);
  const auto& long_term = session.session().memory().long_term();
  const auto run = worth_merging(long_term.segments(), engine_.layout().K);
  ASSERT_TRUE(run);
  const auto rows = store.segments(store.states(session.info().id)[0].id);
  const fs::path damaged = store.segment_path(rows[run->first].file.file);
  {
    std::FILE* file = std::fopen(damaged.c_str(), "r+b");
    ASSERT_NE(file, nullptr);
    std::fseek(file, -5, SEEK_END);
    const int byte = std::fgetc(file);
    std::fseek(file, -5, SEEK_END);
    std::fputc(byte ^ 1, file);
    std::fclose(file);
  }
  SegmentMerge merge(long_term, engine_.layout(), *run, store.segment_path("1-00.safetensors"));
  EXPECT_FALSE(merge.take(long_term));
  EXPECT_FALSE(fs::exists(store.segment_path("1-00.safetensors")));
}

}  // namespace
}  // namespace mplus::store
