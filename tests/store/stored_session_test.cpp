#include "mplus/store/session/stored_session.h"

#include <atomic>
#include <fstream>
#include <functional>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/store/database/row_sum.h"
#include "mplus/store/database/schema.h"
#include "tests/store/stored_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

void damage(const fs::path& file, std::int64_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
  const auto byte = static_cast<char>(stream.get() ^ 0x40);
  stream.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
  stream.put(byte);
}

TEST_F(StoreTest, OpenedAgainItIsTheSame) {
  engine::Session plain(engine_, 7);
  for (unsigned visit = 0; visit < 6; ++visit) {
    Store store(folder_);
    StoredSession session(store, engine_, "notes", Access::write, {.seed = 7});
    expect_same_session(session.session(), plain);
    const auto ids = random_ids(visit % 2 ? 7 : 3000, visit);
    session.remember(document(ids, "text"));
    plain.remember_ids(ids, "text");
    expect_same_session(session.session(), plain);
  }
  Store store(folder_);
  StoredSession reader(store, engine_, "notes", Access::read);
  expect_same_session(reader.session(), plain);
  EXPECT_EQ(reader.info().documents, 6);
}

TEST_F(StoreTest, WithoutAStateTheJournalAloneLeadsBack) {
  engine::Session plain(engine_, 0);
  {
    Store store(folder_);
    StoredSession session(store, engine_, "notes", Access::write, {.state_every = 3});
    for (unsigned i = 0; i < 4; ++i) {
      session.remember(document(random_ids(2000, i), "text"));
      plain.remember_ids(random_ids(2000, i), "text");
    }
    session.remember(document(random_ids(5, 9), "short"));
    session.flush();
    plain.remember_ids(random_ids(5, 9), "short");
    plain.flush();
  }
  std::vector<std::string> warnings;
  for (int lost = 0; lost < 4; ++lost) {  // both states go, the newest first
    Store store(folder_);
    const auto states = store.states(store.get("notes").id);
    StoredSession reader(store, engine_, "notes", Access::read,
                         {.warn = [&](const std::string& w) { warnings.push_back(w); }});
    expect_same_session(reader.session(), plain);
    if (lost < static_cast<int>(states.size())) {
      const auto file = store.state_path(states[static_cast<std::size_t>(lost)].file);
      if (lost % 2) {
        fs::remove(file);
      } else {
        damage(file, -100);
      }
    }
  }
  EXPECT_GE(warnings.size(), 3u) << "damage is reported";
}

TEST_F(StoreTest, StatesWriteOnlyWhatIsNewAndOldOnesGo) {
  Store store(folder_);
  StoredSession session(store, engine_, "notes", Access::write);
  const memory::Memory& memory = session.session().memory();
  for (unsigned i = 0; memory.updates() < 300; ++i) session.remember(document(random_ids(30, i), "note"));
  session.close();
  const auto states = store.states(session.info().id);
  EXPECT_EQ(states.size(), 2u);
  EXPECT_EQ(files("states"), states.size());
  EXPECT_EQ(files("segments"),
            static_cast<std::size_t>(store.database().integer("SELECT count(*) FROM segments")));
  std::int64_t rows = 0;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l)
    rows += memory.short_term(l).n + memory.long_term().size(l);
  std::int64_t on_disk = 0;
  for (const char* part : {"states", "segments"})
    for (const auto& file : fs::directory_iterator(folder_ / part))
      on_disk += static_cast<std::int64_t>(file.file_size());
  const auto row_bytes = static_cast<std::int64_t>(memory.layout().row_cost_bytes());
  EXPECT_LT(static_cast<double>(on_disk), 1.3 * static_cast<double>(rows * row_bytes));
}

// Of the rows of a layer, how many stand in files: the states may use different segments.
std::int64_t rows_in_files(Store& store, std::int64_t session) {
  std::set<std::string> files;
  for (const StateRow& state : store.states(session))
    for (const SegmentRow& segment : store.segments(state.id)) files.insert(segment.file.file);
  std::int64_t rows = 0;
  for (const std::string& file : files)
    rows += io::Safetensors::open(store.segment_path(file)).find("0.birth")->shape[0];
  return rows;
}

// Written in many pieces, a session has few segments and hardly any rows twice.
TEST_F(StoreTest, SmallSegmentsAreMerged) {
  engine::Session plain(engine_, 0);
  constexpr unsigned kVisits = 150;
  for (unsigned visit = 0; visit < kVisits; ++visit) {
    Store store(folder_);
    {
      StoredSession session(store, engine_, "notes", Access::write);
      session.remember(document(random_ids(200, visit), "text"));
      plain.remember_ids(random_ids(200, visit), "text");
    }
    const std::int64_t all = plain.memory().long_term().size(0);
    EXPECT_LE(rows_in_files(store, store.get("notes").id), all + all / 24 + 2 * engine_.layout().K)
        << "visit " << visit;
  }
  Store store(folder_);
  StoredSession reader(store, engine_, "notes", Access::read);
  expect_same_session(reader.session(), plain);
  EXPECT_LT(store.segments(store.states(reader.info().id)[0].id).size(), kVisits / 2);
}

TEST_F(StoreTest, ADocumentStoppedGoesOnWhereItStopped) {
  const auto ids = random_ids(9000, 1);
  engine::Session plain(engine_, 0);
  plain.remember_ids(random_ids(4, 2), "waits");
  plain.remember_ids(ids, "book");
  {
    Store store(folder_);
    StoredSession session(store, engine_, "notes", Access::write, {.state_every = 5});
    session.remember(document(random_ids(4, 2), "waits"));
    EXPECT_FALSE(session.document(document(ids, "book")).source);
    EXPECT_FALSE(session.remember(document(ids, "book"), [](auto, auto) { return false; }).complete);
    EXPECT_FALSE(session.document(document(ids, "book")).source) << "stopped before anything was written";
  }
  int visits = 0;
  for (bool complete = false; !complete; ++visits) {
    Store store(folder_);
    StoredSession session(store, engine_, "notes", Access::write, {.state_every = 5});
    int calls = 0;
    complete = session.remember(document(ids, "book"), [&](auto, auto) { return calls++ < 4; }).complete;
    EXPECT_EQ(session.document(document(ids, "book")).complete, complete);
  }
  EXPECT_GT(visits, 3);
  Store store(folder_);
  StoredSession reader(store, engine_, "notes", Access::read);
  expect_same_session(reader.session(), plain);
  EXPECT_EQ(reader.session().record().sources(), 2);
  EXPECT_EQ(store.get("notes").events, 2) << "one document is one event, however often it was stopped";
}

TEST_F(StoreTest, UndoTakesEventsBack) {
  Store store(folder_);
  StoredSession session(store, engine_, "notes", Access::write, {.state_every = 2});
  engine::Session plain(engine_, 0);
  const auto remember = [&](unsigned seed, std::size_t n) {
    session.remember(document(random_ids(n, seed), "text"));
    plain.remember_ids(random_ids(n, seed), "text");
  };
  remember(1, 3000);
  remember(2, 5);
  const engine::Session before = plain.fork();
  remember(3, 4000);
  remember(4, 6);
  session.undo(2);
  expect_same_session(session.session(), before);
  plain = before.fork();
  remember(5, 2000);
  expect_same_session(session.session(), plain);
  session.close();
  StoredSession reader(store, engine_, "notes", Access::read);
  expect_same_session(reader.session(), plain);
  EXPECT_EQ(error_of([&] { session.undo(9); }), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { session.undo(0); }), ErrorCode::invalid_argument);
  session.undo(3);
  EXPECT_EQ(session.session().memory().updates(), 0);
}

TEST_F(StoreTest, ForksShareAndGoTheirOwnWay) {
  Store store(folder_);
  engine::Session plain(engine_, 0), other(engine_, 0);
  StoredSession session(store, engine_, "notes", Access::write);
  session.remember(document(random_ids(9000, 1), "text"));
  session.close();
  const std::size_t segments = files("segments");
  store.fork("notes", "copy");
  EXPECT_EQ(files("segments"), segments);
  StoredSession copy(store, engine_, "copy", Access::write);
  expect_same_session(copy.session(), session.session());
  copy.remember(document(random_ids(3000, 2), "more"));
  session.remember(document(random_ids(3000, 3), "else"));
  plain.remember_ids(random_ids(9000, 1), "text");
  other = plain.fork();
  plain.remember_ids(random_ids(3000, 3), "else");
  other.remember_ids(random_ids(3000, 2), "more");
  expect_same_session(session.session(), plain);
  expect_same_session(copy.session(), other);
  copy.close();
  EXPECT_EQ(store.get("copy").forked_from, "notes");
  EXPECT_EQ(error_of([&] { store.fork("notes", "copy"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { store.remove("notes"); }), ErrorCode::io) << "it is open for writing";
}

TEST_F(StoreTest, DeletingASessionLeavesItsForksWhole) {
  Store store(folder_);
  {
    StoredSession session(store, engine_, "notes", Access::write);
    session.remember(document(random_ids(9000, 1), "text"));
  }
  store.fork("notes", "copy");
  store.remove("notes");
  EXPECT_FALSE(store.find("notes"));
  engine::Session plain(engine_, 0);
  plain.remember_ids(random_ids(9000, 1), "text");
  {
    StoredSession copy(store, engine_, "copy", Access::write);
    expect_same_session(copy.session(), plain);
  }
  store.remove("copy");
  EXPECT_EQ(files("segments"), 0u);
  EXPECT_EQ(files("states"), 0u);
  EXPECT_EQ(store.database().integer("SELECT count(*) FROM sources"), 0);
}

TEST_F(StoreTest, ForgettingMasksAtOnceAndExactForgettingEqualsNeverHavingSeen) {
  const auto run = [&](bool exact, bool with_second, const std::string& name) {
    Store store(folder_);
    StoredSession session(store, engine_, name, Access::write, {.seed = 3, .state_every = 4});
    session.remember(document(random_ids(3000, 1), "first"));
    if (with_second) session.remember(document(random_ids(2500, 2), "second"));
    session.remember(document(random_ids(4000, 3), "third"));
    if (!with_second) return ForgetReport{};
    const ForgetReport report = session.forget("second", exact);
    EXPECT_EQ(report.sources, std::vector<std::string>{"second"});
    EXPECT_TRUE(report.left.reader.empty());
    EXPECT_EQ(error_of([&] { session.forget("second", exact); }), ErrorCode::not_found);
    return report;
  };
  run(false, false, "never");
  run(true, true, "exact");
  const ForgetReport masked = run(false, true, "masked");
  EXPECT_GE(masked.removed.updates, 5);
  EXPECT_GT(masked.removed.rows, 0);
  Store store(folder_);
  StoredSession never(store, engine_, "never", Access::read), exact(store, engine_, "exact", Access::read);
  expect_same_session(never.session(), exact.session());
  StoredSession after(store, engine_, "masked", Access::write);
  for (std::int64_t l = 0; l < engine_.layout().layers; ++l)
    after.session().memory().long_term().for_each(l, [&](memory::RowId, std::int64_t birth) {
      const auto chunk = memory::chunk_of(birth, engine_.layout().K);
      EXPECT_TRUE(chunk < 0 || !after.session().record().spans(chunk).empty());
    });
  EXPECT_EQ(error_of([&] { after.forget("nobody", false); }), ErrorCode::not_found);
  after.remember(document(random_ids(3000, 4), "fourth"));
  after.undo(2);  // back over the forgetting: what was forgotten stays so
  EXPECT_EQ(after.session().record().sources(), 1);
}

TEST_F(StoreTest, ForgettingNamesTheForksThatStillHoldTheText) {
  Store store(folder_);
  StoredSession session(store, engine_, "notes", Access::write);
  session.remember(document(random_ids(3000, 1), "secret"));
  session.close();
  store.fork("notes", "copy");
  EXPECT_EQ(session.forget("secret", false).holders, std::vector<std::string>{"copy"});
  EXPECT_EQ(store.database().integer("SELECT count(*) FROM sources"), 1) << "the fork has it";
  StoredSession copy(store, engine_, "copy", Access::write);
  EXPECT_GT(copy.session().memory().long_term().size(0), 0);
  EXPECT_TRUE(copy.forget("secret", true).holders.empty());
  EXPECT_EQ(store.database().integer("SELECT count(*) FROM sources"), 0);
  EXPECT_EQ(copy.session().memory().updates(), 0);
}

TEST_F(StoreTest, RebuildingUnderOtherWeightsEqualsWritingUnderThem) {
  // The same model but for one bit of its weights.
  engine::EngineOptions other_options = tiny_options();
  const fs::path changed = folder_ / "changed";
  fs::create_directories(changed);
  fs::copy(other_options.files.model, changed, fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(changed))
    if (entry.path().extension() == ".safetensors") damage(entry.path(), -2);
  other_options.files.model = changed;
  engine::Engine other(other_options);
  ASSERT_EQ(other.shape_id(), engine_.shape_id());
  ASSERT_NE(other.weights_id(), engine_.weights_id());
  Store store(folder_);
  {
    StoredSession session(store, engine_, "notes", Access::write, {.seed = 5});
    session.remember(document(random_ids(5000, 1), "text"));
    session.remember(document(random_ids(8, 2), "short"));
  }
  std::string message;
  EXPECT_EQ(error_of([&] { StoredSession wrong(store, other, "notes", Access::read); }, &message),
            ErrorCode::model_mismatch);
  EXPECT_NE(message.find("session rebuild"), std::string::npos) << message;
  rebuild_session(store, other, "notes");
  engine::Session plain(other, 5);
  plain.remember_ids(random_ids(5000, 1), "text");
  plain.remember_ids(random_ids(8, 2), "short");
  StoredSession session(store, other, "notes", Access::read);
  expect_same_session(session.session(), plain);
}

TEST_F(StoreTest, OneWriterManyReaders) {
  Store store(folder_);
  StoredSession writer(store, engine_, "notes", Access::write, {.state_every = 4});
  writer.remember(document(random_ids(3000, 1), "text"));
  Store second(folder_);
  std::string message;
  EXPECT_EQ(error_of([&] { StoredSession another(second, engine_, "notes", Access::write); }, &message),
            ErrorCode::io);
  EXPECT_NE(message.find("process " + std::to_string(::getpid())), std::string::npos) << message;
  ASSERT_TRUE(second.get("notes").writer);
  StoredSession reader(second, engine_, "notes", Access::read);
  expect_same_session(reader.session(), writer.session());
  writer.remember(document(random_ids(9000, 2), "more"));
  StoredSession later(second, engine_, "notes", Access::read);
  expect_same_session(later.session(), writer.session());
  EXPECT_EQ(error_of([&] { reader.flush(); }), ErrorCode::invalid_argument);
}

TEST_F(StoreTest, ReadersAreNotDisturbedByAWriter) {
  {
    Store made(folder_);
    StoredSession first(made, engine_, "notes", Access::write);
  }
  std::atomic<bool> done{false};
  std::thread writer([&] {
    engine::Engine engine(tiny_options());
    Store store(folder_);
    StoredSession session(store, engine, "notes", Access::write, {.state_every = 1});
    session.remember(document(random_ids(40'000, 1), "text"));
    done = true;
  });
  std::vector<std::string> warnings;
  std::int64_t updates = 0, visits = 0;
  while (!done) {
    Store store(folder_);
    StoredSession reader(store, engine_, "notes", Access::read,
                         {.warn = [&](const std::string& w) { warnings.push_back(w); }});
    EXPECT_GE(reader.session().memory().updates(), updates);
    EXPECT_LE(reader.replayed_events(), 2);
    updates = reader.session().memory().updates();
    ++visits;
  }
  writer.join();
  EXPECT_GT(visits, 3);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
}

// Without the right to write and without a log beside the database there are no locks, and a writer brings
// its log into the file whenever it likes. What is read must be of one moment, or be refused.
TEST_F(StoreTest, AReaderWithoutLocksNoticesAWriter) {
  const std::filesystem::path file = folder_ / "sessions.db";
  const auto remember = [&](Store& store, unsigned seed) {
    StoredSession session(store, engine_, "notes", Access::write);
    session.remember(document(random_ids(2'000, seed), fmt::format("text {}", seed)));
  };
  {
    Store store(folder_);
    remember(store, 1);
  }
  ASSERT_FALSE(std::filesystem::exists(file.string() + "-wal"));
  Database reader = open_database_read_only(file);
  const auto sources = [&] { return reader.integer("SELECT count(*) FROM sources"); };
  EXPECT_EQ(sources(), 1);
  Statement half_way = reader.prepare("SELECT number FROM events");
  ASSERT_TRUE(half_way.step());
  const auto refused = [](const std::function<void()>& read) {
    std::string message;
    EXPECT_EQ(error_of(read, &message), ErrorCode::io);
    return message.find("was written to while it was read") != std::string::npos;
  };
  Database copy(":memory:");
  {
    Store store(folder_);
    remember(store, 2);
    EXPECT_EQ(sources(), 1) << "what is in the log alone is of a later moment";
  }
  EXPECT_TRUE(refused(sources));
  EXPECT_TRUE(refused([&] { half_way.step(); }));
  EXPECT_TRUE(refused([&] { copy_database(reader, copy); }));
  Database again = open_database_read_only(file);
  EXPECT_EQ(again.integer("SELECT count(*) FROM sources"), 2);
}

TEST_F(StoreTest, DamageInASegmentIsNoticedWhenItIsTouched) {
  Store store(folder_);
  {
    StoredSession session(store, engine_, "notes", Access::write);
    session.remember(document(random_ids(20'000, 1), "text"));
  }
  const auto segments = store.segments(store.states(store.get("notes").id)[0].id);
  damage(store.segment_path(segments[0].file.file), -5);  // the last tensor's bytes
  StoredSession reader(store, engine_, "notes", Access::read);
  engine::Session plain(engine_, 0);
  plain.remember_ids(random_ids(20'000, 1), "text");
  std::string message;
  EXPECT_EQ(error_of(
                [&] {
                  for (std::int64_t l = 0; l < engine_.layout().layers; ++l)
                    reader.session().memory().long_term().gather(engine_.layout(), 0, 1, 0, 10);
                },
                &message),
            ErrorCode::corrupt);
  EXPECT_NE(message.find(segments[0].file.file), std::string::npos) << message;
  damage(store.segment_path(segments[0].file.file), 40);  // its header: the state cannot be used
  std::vector<std::string> warnings;
  StoredSession again(store, engine_, "notes", Access::read,
                      {.warn = [&](const std::string& w) { warnings.push_back(w); }});
  EXPECT_FALSE(warnings.empty());
  expect_same_session(again.session(), plain);
}

// What changes a stored session goes through it, so that its journal knows: the session inside can only be
// looked at and asked.
static_assert(std::is_same_v<decltype(std::declval<StoredSession&>().session()), const engine::Session&>);

TEST_F(StoreTest, HowLongACommitLastsIsEachSessionsOwnMatter) {
  constexpr std::int64_t kNormal = 1, kFull = 2;  // SQLite's numbers
  Store store(folder_);
  StoredSession careful(store, engine_, "careful", Access::write);
  StoredSession quick(store, engine_, "quick", Access::write, {.batch = true});
  const auto synchronous = [&] { return store.database().integer("PRAGMA synchronous"); };
  quick.remember(document(random_ids(200, 1), "text"));
  EXPECT_EQ(synchronous(), kNormal);
  careful.remember(document(random_ids(200, 1), "text"));
  EXPECT_EQ(synchronous(), kFull);
  quick.remember(document(random_ids(200, 2), "text"));
  EXPECT_EQ(synchronous(), kNormal);
}

TEST_F(StoreTest, NamesAndUnknownSessions) {
  Store store(folder_);
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string("\xff"), std::string("-x"),
                                  std::string(" x"), std::string(201, 'a'), std::string("a\0b", 3)})
    EXPECT_EQ(error_of([&] { StoredSession s(store, engine_, name, Access::write); }),
              ErrorCode::invalid_argument)
        << name;
  for (const std::string name : {"a/../b", "名前 émoji 🙂", "'; DROP TABLE sessions; --", "%", "a.b"}) {
    StoredSession session(store, engine_, name, Access::write);
    session.remember(document(random_ids(700, 1), name));
  }
  EXPECT_EQ(store.list().size(), 5u);
  std::string message;
  EXPECT_EQ(error_of([&] { store.get("nobody"); }, &message), ErrorCode::not_found);
  EXPECT_NE(message.find("a.b"), std::string::npos) << message;
  store.rename("a.b", "c");
  EXPECT_EQ(error_of([&] { store.rename("c", "%"); }), ErrorCode::invalid_argument);
  EXPECT_TRUE(store.find("c"));
}

TEST_F(StoreTest, AnotherProgramsOrANewerDatabaseIsLeftAlone) {
  fs::create_directories(folder_);
  {
    Database other(folder_ / "sessions.db");
    other.execute("CREATE TABLE mine (x)");
  }
  EXPECT_EQ(error_of([&] { Store store(folder_); }), ErrorCode::unsupported);
  fs::remove(folder_ / "sessions.db");
  { Store store(folder_); }
  {
    Database newer(folder_ / "sessions.db");
    newer.execute("PRAGMA user_version = 99");
  }
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(folder_); }, &message), ErrorCode::unsupported);
  EXPECT_NE(message.find("99"), std::string::npos) << message;
  std::ofstream(folder_ / "sessions.db", std::ios::trunc)
      << "not a database, but long enough to look at " << std::string(5000, 'x');
  EXPECT_EQ(error_of([&] { Store store(folder_); }), ErrorCode::corrupt);
}

TEST_F(StoreTest, TimeNeverRunsBackwards) {
  EXPECT_EQ(now_after(4'000'000'000'000), 4'000'000'000'000);
  Store store(folder_);
  StoredSession session(store, engine_, "notes", Access::write);
  session.remember(document(random_ids(600, 1), "a"));
  store.database().execute(
      "UPDATE events SET at = 4000000000000 WHERE number = 1");  // written under a fast clock
  store.database().execute(fmt::format("UPDATE events SET checksum = {}", kEventSum));
  session.flush();
  EXPECT_EQ(session.journal().last()->number, 2);
  EXPECT_EQ(session.journal().last()->at, 4'000'000'000'000);
}

}  // namespace
}  // namespace mplus::store
