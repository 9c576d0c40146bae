// Sessions whose long-term rows are kept in few bits: the laws of a session hold for them as for plain ones.
#include <fstream>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/names.h"
#include "mplus/store/copies/transfer.h"
#include "mplus/store/damage/verify.h"
#include "mplus/store/segments/births.h"
#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

class SmallRowsTest : public TextStoreTest {
 protected:
  static engine::EngineOptions with_rows(engine::EngineOptions options, RowFormat format) {
    options.memory.long_term = format;
    return options;
  }
  engine::EngineOptions text_options(RowFormat format) {
    engine::EngineOptions options = tiny_options();
    options.files = bytes_.files();
    return with_rows(options, format);
  }

  static void expect_replays(Store& store, engine::Engine& engine, const std::string& name) {
    VerifyReport report = verify_session(store, name);
    verify_by_replay(store, engine, name, report);
    EXPECT_EQ(report.problems, std::vector<std::string>{});
    EXPECT_TRUE(report.replay.starts_with("equal, bit for bit")) << report.replay;
  }

  // Long-term rows that the model's checkpoint brought are plain; all that were dropped here are small.
  static void expect_formats(const engine::Session& session, RowFormat format) {
    std::int64_t small = 0;
    for (const memory::SegmentUse& use : session.memory().long_term().segments()) {
      const memory::RowsView rows = use.rows(0);
      if (rows.format == format) small += rows.n;
      for (std::int64_t r = 0; r < rows.n; ++r)
        EXPECT_TRUE(rows.birth[r] < 0 || rows.format == format) << rows.birth[r];
    }
    EXPECT_GT(small, 0);
  }
};

TEST_F(SmallRowsTest, ASessionIsTheSameHoweverItIsOpenedAndClosed) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    fs::remove_all(folder_ / "store");
    engine::Engine engine(with_rows(tiny_options(), format));
    engine::Session plain(engine, 7);
    for (unsigned visit = 0; visit < 5; ++visit) {
      Store store(folder_ / "store");
      StoredSession session(store, engine, "notes", Access::write, {.seed = 7, .state_every = 3});
      const auto ids = random_ids(visit % 2 ? 7 : 3000, visit);
      session.remember(document(ids, "text"));
      plain.remember_ids(ids, "text");
      expect_same_session(session.session(), plain);
      expect_formats(session.session(), format);
    }
    Store store(folder_ / "store");
    EXPECT_EQ(store.get("notes").settings.type, (MemoryType{DType::bf16, format}));
    StoredSession reader(store, engine_, "notes", Access::read);  // an engine that makes plain ones
    expect_same_session(reader.session(), plain);
    expect_replays(store, engine_, "notes");
  }
}

TEST_F(SmallRowsTest, ForgettingAndUndoKeepTheirLaws) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    fs::remove_all(folder_ / "store");
    engine::Engine engine(text_options(format));
    Store store(folder_ / "store");
    StoredSession session(store, engine, "notes", Access::write, {.seed = 5, .state_every = 4});
    session.remember({.source = "first.txt", .text = story(250, 1)});
    session.remember({.source = "forgotten.txt", .text = story(80, 3)});
    session.remember({.source = "second.txt", .text = story(250, 4)});
    session.say("Where is the lamp?", tokens(4));
    session.forget("forgotten.txt", true);
    engine::Session without(engine, 5);
    without.remember(story(250, 1), "first.txt");
    without.remember(story(250, 4), "second.txt");
    for (std::int64_t l = 0; l < engine.layout().layers; ++l)
      EXPECT_EQ(session.session().memory().long_term().size(l), without.memory().long_term().size(l));
    expect_replays(store, engine, "notes");
    session.remember({.source = "third.txt", .text = story(150, 6)});
    session.forget("third.txt", false);  // rows are rewritten in place
    expect_formats(session.session(), format);
    expect_replays(store, engine, "notes");
  }
}

TEST_F(SmallRowsTest, ARebuildChangesHowRowsAreKept) {
  Store store(folder_ / "store");
  {
    StoredSession session(store, engine_, "notes", Access::write, {.seed = 5});
    session.remember(document(random_ids(5000, 1), "text"));
  }
  for (const RowFormat format : {RowFormat::int4, RowFormat::int8, RowFormat::plain}) {
    rebuild_session(store, engine_, "notes", {}, format);
    engine::Session wanted(engine_, 5, format);
    wanted.remember_ids(random_ids(5000, 1), "text");
    StoredSession session(store, engine_, "notes", Access::read);
    expect_same_session(session.session(), wanted);
    expect_replays(store, engine_, "notes");
  }
  rebuild_session(store, engine_, "notes", {}, RowFormat::int8);
  rebuild_session(store, engine_, "notes");
  EXPECT_EQ(store.get("notes").settings.type.long_term, RowFormat::int8);
}

TEST_F(SmallRowsTest, FilesCarryThem) {
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    fs::remove_all(folder_ / "store");
    fs::remove(folder_ / "file");
    engine::Engine engine(with_rows(tiny_options(), format));
    Store store(folder_ / "store");
    StoredSession session(store, engine, "notes", Access::write, {.seed = 5});
    session.remember(document(random_ids(4000, 1), "text"));
    export_session(session, folder_ / "file", true);
    import_session(store, engine_, folder_ / "file", "copy");
    StoredSession copy(store, engine_, "copy", Access::write);
    expect_same_session(copy.session(), session.session());
    copy.remember(document(random_ids(2000, 2), "more"));
    session.remember(document(random_ids(2000, 2), "more"));
    expect_same_session(copy.session(), session.session());
    expect_replays(store, engine_, "copy");
  }
}

// What a plain file becomes is what a session that was begun so would hold: rows are made of bf16 either way.
TEST_F(SmallRowsTest, AConvertedFileIsTheMemoryThatWasBegunSo) {
  engine::Session plain(engine_, 5);
  plain.remember_ids(random_ids(5000, 1), "text");
  save_session_file(plain, folder_ / "plain");
  for (const RowFormat format : {RowFormat::int8, RowFormat::int4}) {
    engine::convert_session_file(folder_ / "plain", folder_ / "small", {.long_term = format});
    engine::Session small = engine::load_session_file(engine_, folder_ / "small");
    engine::Session wanted(engine_, 5, format);
    wanted.remember_ids(random_ids(5000, 1), "text");
    ASSERT_EQ(small.memory().layout().long_term, format);
    for (std::int64_t l = 0; l < small.memory().layout().layers; ++l) {
      std::vector<memory::RowId> rows;
      wanted.memory().long_term().for_each(l, [&](memory::RowId id, std::int64_t) { rows.push_back(id); });
      std::size_t at = 0;
      small.memory().long_term().for_each(l, [&](memory::RowId id, std::int64_t birth) {
        const memory::RowId other = rows[at++];
        if (birth < 0) return;  // of the checkpoint: plain there
        expect_same_rows(small.memory().layout(), small.memory().long_term().rows_of(l, id), id.row,
                         wanted.memory().long_term().rows_of(l, other), other.row);
      });
      EXPECT_EQ(at, rows.size());
    }
    EXPECT_THROW(engine::convert_session_file(folder_ / "small", folder_ / "again", {}), Error);
    fs::remove(folder_ / "small");
  }
}

// A bit of a segment that is turned is noticed when the segment is opened or first looked at.
TEST_F(SmallRowsTest, DamageIsNoticed) {
  engine::Engine engine(with_rows(tiny_options(), RowFormat::int4));
  {
    Store store(folder_ / "store");
    StoredSession session(store, engine, "notes", Access::write, {.seed = 5});
    session.remember(document(random_ids(4000, 1), "text"));
  }
  engine::Session wanted(engine, 5);
  wanted.remember_ids(random_ids(4000, 1), "text");
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    fs::remove_all(folder_ / "copy");
    fs::copy(folder_ / "store", folder_ / "copy", fs::copy_options::recursive);
    std::vector<fs::path> segments;
    for (const auto& entry : fs::directory_iterator(folder_ / "copy" / "segments"))
      segments.push_back(entry.path());
    const fs::path segment = segments[random() % segments.size()];
    const auto at = static_cast<std::streamoff>(random() % fs::file_size(segment));
    {
      std::fstream stream(segment, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(at);
      const auto byte = static_cast<char>(stream.get() ^ (1 << random() % 8));
      stream.seekp(at);
      stream.put(byte);
    }
    SCOPED_TRACE(fmt::format("{} at {}", segment.filename().string(), at));
    std::vector<std::string> said;
    Store store(folder_ / "copy");
    EXPECT_FALSE(verify_session(store, "notes").sound());
    try {
      StoredSession session(store, engine, "notes", Access::read,
                            {.warn = [&](const std::string& message) { said.push_back(message); }});
      EXPECT_EQ(first_difference(session.session(), wanted, true), "");  // of the journal, or of a sound part
      session.session().generate_ids(random_ids(9, 1), tokens(2));
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(segment.filename().string()), std::string::npos)
          << error.what();
    }
  }
}

TEST(Births, AreTheSameThereAndBack) {
  const std::vector<std::int64_t> births{
      -1, -70, 0, 5, 1'000'000, 999'000, std::int64_t{1} << 40, 3, INT64_MAX, INT64_MIN, 0};
  const auto bytes = birth_differences(births);
  EXPECT_EQ(births_of(bytes), births);
  EXPECT_EQ(births_of({}), std::vector<std::int64_t>{});
  const std::vector<std::int64_t> neighbours{1000, 1003, 1010, 1064};
  EXPECT_EQ(birth_differences(neighbours).size(), 5u);  // 2, 1, 1 and 1 bytes
  for (std::size_t n = 1; n < bytes.size(); ++n) {      // cut in the middle of a number, or one number less
    const auto cut = births_of(std::span(bytes).first(n));
    EXPECT_TRUE(!cut || cut->size() < births.size());
  }
  EXPECT_FALSE(births_of(std::vector<std::byte>(11, std::byte{0xff})));
  EXPECT_FALSE(births_of(std::vector<std::byte>{std::byte{0x80}}));
}

}  // namespace
}  // namespace mplus::store
