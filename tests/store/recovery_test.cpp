// What can be damaged or missing, one by one: what is noticed, what goes on, what is saved.
#include <fstream>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/store/copies/salvage.h"
#include "mplus/store/copies/transfer.h"
#include "mplus/store/damage/verify.h"
#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

class RecoveryTest : public TextStoreTest {
 protected:
  RecoveryTest() : home_(folder_ / "home") {}

  void write(std::initializer_list<const char*> names) {
    Store store(home_);
    StoredSession session(store, bytes_, "notes", Access::write, {.seed = 5});
    unsigned seed = 0;
    for (const char* name : names) session.remember({.source = name, .text = story(40, ++seed)});
  }
  // As something other than the program would, behind its back.
  void change(const std::string& sql) {
    Store store(home_);
    store.database().execute(sql);
  }
  std::string refusal(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }
  bool sound(const std::string& name = "notes") {
    Store store(home_);
    const VerifyReport report = verify_session(store, name);
    EXPECT_EQ(report.sound(), report.verdict.empty());
    return report.sound();
  }
  std::function<void(const std::string&)> note() {
    return [this](const std::string& message) { said_.push_back(message); };
  }
  bool was_said(const std::string& words) const {
    return std::any_of(said_.begin(), said_.end(),
                       [&](const std::string& s) { return s.find(words) != std::string::npos; });
  }
  static bool holds(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }

  fs::path home_;
  std::vector<std::string> said_;
};

// One bit of a text, where it lies in the file.
TEST_F(RecoveryTest, ADamagedTextIsLostAloneAndEverythingElseGoesOn) {
  write({"a.txt", "b.txt", "c.txt"});
  std::string text;
  {
    Store store(home_);
    text = store.database().text("SELECT text FROM sources WHERE name = 'b.txt'");
    store.wipe_log();
  }
  std::string bytes = read_text_file(home_ / "sessions.db");
  const std::size_t at = bytes.find(text.substr(0, 40));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 20] = static_cast<char>(bytes[at + 20] ^ 4);
  std::ofstream(home_ / "sessions.db", std::ios::binary) << bytes;
  EXPECT_FALSE(sound());
  Store store(home_, {.warn = note()});
  {
    StoredSession reader(store, bytes_, "notes", Access::read, {.warn = note()});
    EXPECT_TRUE(was_said("b.txt"));
    EXPECT_EQ(reader.session().record().source(0).text, story(40, 1));
    reader.session().ask("Where is the lamp?", tokens(3));
    export_session(reader, folder_ / "left.safetensors", true);
  }
  {
    StoredSession session(store, bytes_, "notes", Access::write, {.warn = note()});
    session.remember({.source = "d.txt", .text = story(40, 4)});
    session.undo(1);
    session.remember({.source = "e.txt", .text = story(40, 5)});
  }
  said_.clear();
  rebuild_session(store, bytes_, "notes", {.warn = note()});
  EXPECT_TRUE(was_said("b.txt")) << "rebuild says what is lost";
  {
    StoredSession session(store, bytes_, "notes", Access::write);
    EXPECT_EQ(session.forget("b.txt", false).sources, std::vector<std::string>{"b.txt"});
  }
  EXPECT_TRUE(sound()) << "with what is left of it forgotten, nothing is damaged";
  import_session(store, bytes_, folder_ / "left.safetensors", "again");
  StoredSession again(store, bytes_, "again", Access::write);
  EXPECT_TRUE(again.document({.source = "a.txt", .text = story(40, 1)}).complete);
  EXPECT_TRUE(again.document({.source = "c.txt", .text = story(40, 3)}).complete);
}

TEST_F(RecoveryTest, ColumnsThatDecideAreChecked) {
  for (const char* sql :
       {"UPDATE sessions SET seed = 6", "UPDATE sessions SET capacity = 7", "UPDATE sessions SET ready = 0",
        "UPDATE sessions SET shape_id = 'x'", "UPDATE events SET undone_by = 2 WHERE number = 1",
        "UPDATE events SET forgotten = 1 WHERE number = 1", "UPDATE states SET pinned = 1",
        "UPDATE states SET event = 1", "UPDATE sources SET name = 'x' WHERE id = 1",
        "DELETE FROM events WHERE number = 1"}) {
    fs::remove_all(home_);
    write({"a.txt", "b.txt"});
    ASSERT_TRUE(sound());
    change(sql);
    EXPECT_FALSE(sound()) << sql;
  }
}

TEST_F(RecoveryTest, ASessionThatSeemsUnfinishedByDamageIsNotDeleted) {
  write({"a.txt"});
  change("UPDATE sessions SET ready = 0");
  Store store(home_);
  StoredSession other(store, bytes_, "other", Access::write);  // removes what was left unfinished
  EXPECT_EQ(store.list().size(), 2u) << "it is shown";
  EXPECT_TRUE(holds(refusal([&] { store.get("notes"); }), "--salvage"));
  const SalvageReport report = salvage_session(home_, bytes_, "notes", folder_ / "left.safetensors");
  EXPECT_EQ(report.sources, 1);
}

// One flipped bit in the last letters of a segment's name.
TEST_F(RecoveryTest, ANameThatIsNoTextAnyMoreIsSaid) {
  write({"a.txt", "b.txt"});
  ASSERT_TRUE(sound());
  change("UPDATE segments SET file = CAST(substr(file, 1, length(file) - 2) AS BLOB) || x'f273'");
  EXPECT_FALSE(sound());
  Store store(home_);
  StoredSession session(store, bytes_, "notes", Access::read, {.warn = note()});
  EXPECT_EQ(session.session().record().sources(), 2);
  EXPECT_TRUE(was_said("lists other segments"));
}

TEST_F(RecoveryTest, AStatesHeaderIsChecked) {
  write({"a.txt", "b.txt"});
  for (const auto& entry : fs::directory_iterator(home_ / "states")) {
    std::string bytes = read_text_file(entry.path());
    const std::size_t at = bytes.find("\"seed\":\"5\"");
    ASSERT_NE(at, std::string::npos);
    bytes[at + 8] = '4';
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  EXPECT_FALSE(sound());
  Store store(home_);
  StoredSession session(store, bytes_, "notes", Access::read, {.warn = note()});
  EXPECT_EQ(session.session().seed(), 5u);
  EXPECT_FALSE(said_.empty());
}

TEST_F(RecoveryTest, FilesWithoutADatabaseAreLeftAlone) {
  for (const bool empty : {false, true}) {
    fs::remove_all(home_);
    write({"a.txt"});
    const auto states = std::distance(fs::directory_iterator(home_ / "states"), {});
    fs::remove(home_ / "sessions.db-wal");
    if (empty) {
      fs::resize_file(home_ / "sessions.db", 0);
    } else {
      fs::remove(home_ / "sessions.db");
    }
    const std::string message = refusal([&] { Store store(home_); });
    EXPECT_TRUE(holds(message, "notes") && holds(message, "set-aside")) << message;
    EXPECT_EQ(std::distance(fs::directory_iterator(home_ / "states"), {}),
              static_cast<std::ptrdiff_t>(states));
    const fs::path aside = Store::set_aside(home_);
    EXPECT_EQ(std::distance(fs::directory_iterator(aside / "states"), {}),
              static_cast<std::ptrdiff_t>(states));
    Store store(home_);
    EXPECT_TRUE(store.list().empty());
  }
}

TEST_F(RecoveryTest, ADatabaseThatIsNoneAnyMoreIsSetAsideWithItsFiles) {
  write({"a.txt"});
  std::ofstream(home_ / "sessions.db", std::ios::binary) << std::string(8192, '\x5a');
  fs::remove(home_ / "sessions.db-wal");
  EXPECT_TRUE(holds(refusal([&] { Store store(home_); }), "sessions.db"));
  const fs::path aside = Store::set_aside(home_);
  for (const char* part : {"sessions.db", "states", "segments", "marks"})
    EXPECT_TRUE(fs::exists(aside / part));
  Store store(home_);
  EXPECT_TRUE(store.list().empty());
}

TEST_F(RecoveryTest, ASessionThatWasBeingMadeOrDeletedIsNotALostOne) {
  write({"a.txt"});
  Store store(home_);
  for (const std::int64_t event : {-1, -2}) {  // its process died before or after the commit
    write_mark(store.mark_path(99), {.session = 99, .name = "ghost", .event = event}, true);
    EXPECT_TRUE(store.lost_sessions().empty());
    EXPECT_FALSE(store.find("ghost"));
  }
  write_mark(store.mark_path(99), {.session = 99, .name = "ghost", .event = 0}, true);
  EXPECT_EQ(store.lost_sessions().size(), 1u);
}

TEST_F(RecoveryTest, ALostLogIsNoticed) {
  write({"a.txt"});
  const fs::path killed = folder_ / "killed";
  {
    Store store(home_);
    store.wipe_log();
    StoredSession session(store, bytes_, "notes", Access::write);
    session.remember({.source = "b.txt", .text = story(40, 2)});
    StoredSession second(store, bytes_, "second", Access::write);
    fs::copy(home_, killed, fs::copy_options::recursive);  // as a process leaves it that is killed here
  }
  fs::remove(killed / "sessions.db-wal");
  fs::remove(killed / "sessions.db-shm");
  home_ = killed;
  EXPECT_FALSE(sound());
  Store store(home_);
  StoredSession session(store, bytes_, "notes", Access::read, {.warn = note()});
  EXPECT_TRUE(was_said("event 2")) << "the event that was acknowledged";
  EXPECT_TRUE(holds(refusal([&] { store.find("second"); }), "-wal")) << "a session that was made";
  ASSERT_EQ(store.lost_sessions().size(), 1u);
}

TEST_F(RecoveryTest, ADatabaseOfWhichAnyPageIsOverwrittenCanBeSalvaged) {
  write({"a.txt", "b.txt"});
  { Store(home_).wipe_log(); }
  const auto pages = fs::file_size(home_ / "sessions.db") / 4096;
  const fs::path whole = folder_ / "whole";
  fs::copy(home_, whole, fs::copy_options::recursive);
  for (const std::uintmax_t page : {std::uintmax_t{1}, std::uintmax_t{2}, pages / 2, pages}) {
    fs::remove_all(home_);
    fs::copy(whole, home_, fs::copy_options::recursive);
    {
      std::fstream stream(home_ / "sessions.db", std::ios::in | std::ios::out | std::ios::binary);
      stream.seekp(static_cast<std::streamoff>((page - 1) * 4096));
      stream << std::string(4096, '\x5a');
    }
    const auto before = salvage_rows(whole / "sessions.db").pages;
    const auto still = std::count_if(before.begin(), before.end(), [&](const auto& of) {
      return of.second.count(static_cast<std::int64_t>(page)) == 0;
    });
    fs::remove(folder_ / "left.safetensors");
    const SalvageReport report = salvage_session(home_, bytes_, "notes", folder_ / "left.safetensors");
    EXPECT_EQ(report.sources, still) << "page " << page;
  }
}

TEST_F(RecoveryTest, AnOlderStoreIsBroughtUpToDateAfterACopyWasMade) {
  fs::copy(MPLUS_TEST_DATA "/store_v1", home_, fs::copy_options::recursive);
  {
    Store store(home_, {.warn = note()});
    EXPECT_TRUE(was_said("sessions.db.v1"));
    EXPECT_TRUE(verify_session(store, "notes").sound());
  }
  Database copy(home_ / "sessions.db.v1");
  EXPECT_EQ(copy.integer("PRAGMA user_version"), 1);
  EXPECT_GT(copy.integer("SELECT count(*) FROM events"), 5);
  said_.clear();
  Store again(home_, {.warn = note()});
  EXPECT_TRUE(said_.empty());
}

}  // namespace
}  // namespace mplus::store
