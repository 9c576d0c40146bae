// Stores of released versions stay readable for ever. A fixture is written once, by the program of its
// version:
//   MPLUS_WRITE_FIXTURE=FOLDER store_test --gtest_filter=Fixture.Version1
#include <cstdlib>

#include "mplus/store/copies/transfer.h"
#include "mplus/store/damage/verify.h"
#include "tests/store/stored_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

class Fixture : public StoreTest {
 protected:
  static void write(Store& store, engine::Engine& engine) {
    StoredSession session(store, engine, "notes", Access::write, {.seed = 11, .state_every = 3});
    session.remember(document(random_ids(3000, 1), "first"));
    session.remember(document(random_ids(700, 2), "undone"));
    session.undo(1);
    session.remember(document(random_ids(900, 3), "forgotten"));
    session.remember(document(random_ids(1500, 4), "second"));
    session.forget("forgotten", true);
    session.remember(document(random_ids(6, 5), "waits"));
    session.flush();
  }
};

TEST_F(Fixture, Version1) {
  engine::Session plain(engine_, 11);
  plain.remember_ids(random_ids(3000, 1), "first");
  plain.remember_ids(random_ids(1500, 4), "second");
  plain.remember_ids(random_ids(6, 5), "waits");
  plain.flush();
  if (const char* target = std::getenv("MPLUS_WRITE_FIXTURE")) {
    Store store(target);
    write(store, engine_);
    store.wipe_log();
    return;
  }
  fs::copy(MPLUS_TEST_DATA "/store_v1", folder_, fs::copy_options::recursive);
  Store store(folder_);
  const VerifyReport report = verify_session(store, "notes");
  for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
  StoredSession session(store, engine_, "notes", Access::write);
  const bool same_numerics = session.info().settings.numerics_id == engine_.numerics_id();
  EXPECT_EQ(first_difference(session.session(), plain, same_numerics), "");
  session.remember(document(random_ids(2000, 6), "more"));
  plain.remember_ids(random_ids(2000, 6), "more");
  EXPECT_EQ(first_difference(session.session(), plain, same_numerics), "");
  session.undo(2);
}

// The same text in three sessions, with plain and with small rows (segments of versions 1 and 2).
TEST_F(Fixture, SmallRows) {
  const std::pair<const char*, RowFormat> sessions[] = {
      {"plain", RowFormat::plain}, {"int8", RowFormat::int8}, {"int4", RowFormat::int4}};
  if (const char* target = std::getenv("MPLUS_WRITE_FIXTURE")) {
    Store store(target);
    for (const auto& [name, format] : sessions) {
      engine::EngineOptions options = tiny_options();
      options.memory.long_term = format;
      engine::Engine engine(options);
      StoredSession session(store, engine, name, Access::write, {.seed = 11});
      session.remember(document(random_ids(5000, 1), "first"));
    }
    store.wipe_log();
    return;
  }
  fs::copy(MPLUS_TEST_DATA "/store_small_rows", folder_, fs::copy_options::recursive);
  Store store(folder_);
  for (const auto& [name, format] : sessions) {
    EXPECT_EQ(verify_session(store, name).problems, std::vector<std::string>{});
    StoredSession session(store, engine_, name, Access::write);
    engine::Session as_then(engine_, 11, format);
    as_then.remember_ids(random_ids(5000, 1), "first");
    const bool same_numerics = session.info().settings.numerics_id == session.session().numerics_id();
    EXPECT_EQ(first_difference(session.session(), as_then, same_numerics), "") << name;
    session.remember(document(random_ids(2000, 6), "more"));
    as_then.remember_ids(random_ids(2000, 6), "more");
    EXPECT_EQ(first_difference(session.session(), as_then, same_numerics), "") << name;
  }
}

}  // namespace
}  // namespace mplus::store
