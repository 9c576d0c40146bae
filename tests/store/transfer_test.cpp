#include "mplus/store/copies/transfer.h"

#include <fstream>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/store/damage/verify.h"
#include "tests/store/stored_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

class TransferTest : public StoreTest {
 protected:
  // A session with a bit of everything.
  void make(Store& store, const std::string& name) {
    StoredSession session(store, engine_, name, Access::write, {.seed = 9, .state_every = 4});
    session.remember(document(random_ids(5000, 1), "first"));
    session.remember(document(random_ids(6, 2), "short"));
    session.remember(document(random_ids(3000, 3), "gone"));
    session.undo(1);
    int calls = 0;
    session.remember(document(random_ids(4000, 4), "part"), [&](auto, auto) { return calls++ < 3; });
  }
};

TEST_F(TransferTest, WithItsJournalASessionIsTheSameElsewhere) {
  const fs::path file = folder_ / "carried.safetensors";
  Store here(folder_ / "here"), there(folder_ / "there");
  make(here, "notes");
  StoredSession original(here, engine_, "notes", Access::read);
  export_session(original, file, true);
  import_session(there, engine_, file, "copy");
  {
    StoredSession copy(there, engine_, "copy", Access::write);
    expect_same_session(copy.session(), original.session());
    EXPECT_TRUE(verify_session(there, "copy").sound());
    VerifyReport report;
    verify_by_replay(there, engine_, "copy", report);
    EXPECT_EQ(report.replay, "equal, bit for bit");
  }
  StoredSession copy(there, engine_, "copy", Access::write), writer(here, engine_, "notes", Access::write);
  for (StoredSession* session : {&copy, &writer}) {  // goes on, forgets and undoes as the original does
    session->remember(document(random_ids(4000, 4), "part"));
    session->forget("first", true);
    session->undo(1);
  }
  expect_same_session(copy.session(), writer.session());
}

TEST_F(TransferTest, WithoutAJournalItIsWhatItIs) {
  const fs::path file = folder_ / "carried.safetensors";
  Store store(folder_ / "here");
  engine::Session plain(engine_, 3);
  plain.remember_ids(random_ids(9000, 1), "first");
  plain.remember_ids(random_ids(2000, 2), "second");
  save_session_file(plain, file);
  import_session(store, engine_, file, "copy");
  StoredSession copy(store, engine_, "copy", Access::write);
  expect_same_session(copy.session(), plain);
  copy.remember(document(random_ids(2000, 3), "third"));
  copy.undo(1);
  expect_same_session(copy.session(), plain);
  EXPECT_THROW(copy.undo(1), Error) << "nothing leads back before the import";
  EXPECT_THROW(copy.forget("first", true), Error);
  EXPECT_GT(copy.forget("first", false).removed.rows, 0);
  EXPECT_THROW(import_session(store, engine_, file, "copy"), Error) << "the name is taken";
  EXPECT_THROW(rebuild_session(store, engine_, "copy"), Error);
  EXPECT_EQ(store.list().size(), 1u);
}

TEST_F(TransferTest, DamagedFilesAreRefusedAndLeaveNothing) {
  const fs::path file = folder_ / "carried.safetensors";
  Store store(folder_ / "here");
  make(store, "notes");
  StoredSession original(store, engine_, "notes", Access::read);
  export_session(original, file, true);
  const auto size = static_cast<std::int64_t>(fs::file_size(file));
  const std::size_t states = files("here/states");
  for (std::int64_t at : {std::int64_t{3}, size / 3, size / 2, size - 1}) {
    const fs::path bad = folder_ / "bad.safetensors";
    fs::copy_file(file, bad, fs::copy_options::overwrite_existing);
    std::fstream stream(bad, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    stream.put('\x7f');
    stream.close();
    EXPECT_THROW(import_session(store, engine_, bad, "copy"), Error) << at;
    fs::resize_file(bad, static_cast<std::uintmax_t>(at));
    EXPECT_THROW(import_session(store, engine_, bad, "copy"), Error) << at;
  }
  EXPECT_EQ(store.list().size(), 1u);
  EXPECT_EQ(files("here/states"), states);
}

TEST_F(TransferTest, VerifySaysWhatIsLost) {
  Store store(folder_);
  make(store, "notes");
  const auto report = [&] { return verify_session(store, "notes"); };
  EXPECT_TRUE(report().sound());
  EXPECT_GT(report().bytes, 0);
  const std::int64_t id = store.get("notes").id;
  const auto newest = store.states(id)[0];
  fs::remove(store.state_path(newest.file));
  EXPECT_FALSE(report().sound());
  EXPECT_NE(report().verdict.find("nothing is lost"), std::string::npos) << report().verdict;
  // A text changed behind the store's back.
  store.database().execute(
      "UPDATE sources SET ids = (SELECT ids FROM sources WHERE name = 'short') WHERE name = 'first'");
  EXPECT_NE(report().verdict.find("lost"), std::string::npos) << report().verdict;
  bool named = false;
  for (const std::string& problem : report().problems)
    named = named || problem.find("first") != std::string::npos;
  EXPECT_TRUE(named);
  // What is sound can still be carried away.
  std::vector<std::string> warnings;
  StoredSession salvaged(store, engine_, "notes", Access::read,
                         {.warn = [&](const std::string& w) { warnings.push_back(w); }});
  EXPECT_FALSE(warnings.empty());
  export_session(salvaged, folder_ / "salvaged.safetensors", true);
  engine::load_session_file(engine_, folder_ / "salvaged.safetensors");
}

TEST_F(TransferTest, ACorruptedPageIsReported) {
  {
    Store store(folder_);
    make(store, "notes");
    store.wipe_log();
  }
  {
    std::fstream stream(folder_ / "sessions.db", std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::int64_t>(fs::file_size(folder_ / "sessions.db"));
    for (std::int64_t page = 2; page < size / 4096; ++page) {  // behind the schema, the head of every page
      stream.seekp(page * 4096);
      for (int i = 0; i < 16; ++i) stream.put('\x5a');
    }
  }
  try {
    Store store(folder_);
    const VerifyReport report = verify_session(store, "notes");
    EXPECT_FALSE(report.sound());
    EXPECT_FALSE(report.verdict.empty());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt) << error.what();
    EXPECT_NE(std::string(error.what()).find("sessions.db"), std::string::npos);
  }
}

}  // namespace
}  // namespace mplus::store
