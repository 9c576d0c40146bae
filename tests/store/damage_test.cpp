// Damage stays where it is. A small store with everything in it is damaged at random, over every byte of
// every file, and each time one of two things must come out: the same answers as before, or a message that
// names what is damaged. MPLUS_DAMAGE_TRIALS: how many (default 2,000); MPLUS_DAMAGE_SEED: which (default
// 17).
#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "mplus/core/error.h"
#include "mplus/store/copies/salvage.h"
#include "mplus/store/copies/transfer.h"
#include "mplus/store/damage/verify.h"
#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

struct Change {
  fs::path file;  // in the store's folder
  std::int64_t at = 0;
  std::string what;
};

int setting(const char* name, int otherwise) {
  const char* set = std::getenv(name);
  return set ? std::atoi(set) : otherwise;
}

std::string kind_of(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name == "sessions.db") return "database";
  if (name == "sessions.db-wal") return "log";
  return file.parent_path().filename().string();
}

class DamageTest : public TextStoreTest {
 protected:
  DamageTest() : original_(fs::path("/dev/shm") / folder_.filename()) {
    if (!fs::exists("/dev/shm")) original_ = folder_ / "original";
    copy_ = original_.string() + "_copy";
  }
  ~DamageTest() override {
    std::error_code ignored;
    for (const fs::path& folder : {original_, copy_}) fs::remove_all(folder, ignored);
  }

  // Documents short and long, one undone, one forgotten, a conversation, a fork, of which a rebuild was
  // stopped; some of it in the log alone, as a process leaves it that was killed.
  void write_store() {
    const fs::path live = original_.string() + "_live";
    {
      Store store(live);
      StoredSession session(store, bytes_, "notes", Access::write, {.seed = 5, .state_every = 4});
      session.remember({.source = "long.txt", .text = story(150, 1)});
      session.remember({.source = "undone.txt", .text = story(20, 2)});
      session.undo(1);
      session.remember({.source = "forgotten.txt", .text = story(30, 3)});
      session.remember({.source = "second.txt", .text = story(60, 4)});
      session.forget("forgotten.txt", true);
      session.say("Where is the lamp?", tokens(4));
      session.close();
      store.fork("notes", "copy");
      StoredOptions stopping{.state_every = 2};
      stopping.rebuild_progress = [](std::int64_t writes) { return writes < 2; };
      EXPECT_THROW(rebuild_session(store, words_, "copy", stopping), Error);
      EXPECT_TRUE(store.look_at("copy").rebuild);
      store.wipe_log();
      session.remember({.source = "short.txt", .text = "The key is under the stone."});
      session.flush();
      session.say("And Ingrid?", tokens(4));
      fs::copy(live, original_, fs::copy_options::recursive);  // with the log as it is now
    }
    fs::remove_all(live);
    for (const char* name : {"locks", "sessions.db-shm"}) fs::remove_all(original_ / name);
    for (const auto& entry : fs::recursive_directory_iterator(original_))
      if (entry.is_regular_file()) sizes_[fs::relative(entry.path(), original_)] = entry.file_size();
  }

  void renew_copy() {
    fs::remove_all(copy_);
    fs::copy(original_, copy_, fs::copy_options::recursive);
  }

  // Kinds of files take turns, so that small ones are met, too.
  Change damage(std::mt19937& random, const std::string& kind) {
    std::vector<fs::path> files;
    for (const auto& [file, size] : sizes_)
      if (kind_of(file) == kind) files.push_back(file);
    Change change;
    change.file = files[random() % files.size()];
    const auto size = static_cast<std::int64_t>(sizes_[change.file]);
    change.at = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size));
    const fs::path path = copy_ / change.file;
    switch (random() % 8) {
      case 0:
        change.what = "truncated";
        fs::resize_file(path, static_cast<std::uintmax_t>(change.at));
        break;
      case 1:
        change.what = "overwritten";  // a block of a disk
        overwrite(path, change.at / 512 * 512, std::min<std::int64_t>(512, size - change.at / 512 * 512),
                  random);
        break;
      default:
        change.what = "flipped";
        flip(path, change.at, static_cast<char>(1 << random() % 8));
    }
    return change;
  }
  static void flip(const fs::path& path, std::int64_t at, char bits) {
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const auto byte = static_cast<char>(stream.get() ^ bits);
    stream.seekp(at);
    stream.put(byte);
  }
  static void overwrite(const fs::path& path, std::int64_t at, std::int64_t size, std::mt19937& random) {
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    for (std::int64_t i = 0; i < size; ++i) stream.put(static_cast<char>(random()));
  }

  // Everything an answer depends on, and an answer.
  std::string told_by(StoredSession& session, const engine::Session& as_before) {
    if (const std::string d = first_difference(session.session(), as_before, true); !d.empty()) return d;
    const engine::Record &record = session.session().record(), &before = as_before.record();
    if (record.sources() != before.sources()) return "sources";
    for (std::int64_t s = 0; s < record.sources(); ++s)
      if (record.source(s).name != before.source(s).name || record.source(s).text != before.source(s).text)
        return fmt::format("source {}", s);
    engine::GenerateOptions options = tokens(3);
    session.serve_words(options);
    const memory::Prior words = options.words("the harbour lamp");
    std::string text = session.session().ask("Where is the lamp?", options).text;
    for (std::int64_t chunk = 0; chunk < record.updates(); ++chunk) text += fmt::format(" {}", words(chunk));
    if (answer_.empty()) answer_ = text;
    return text == answer_ ? "" : fmt::format("answer {} instead of {}", text, answer_);
  }

  fs::path original_, copy_;
  std::map<fs::path, std::uintmax_t> sizes_;
  std::string answer_;
};

TEST_F(DamageTest, TheSameAnswersOrAMessage) {
  const int trials = setting("MPLUS_DAMAGE_TRIALS", 2000);
  write_store();
  renew_copy();
  engine::Session before(bytes_, 0), later(bytes_, 0);
  const std::string more = "The boat comes at night.";
  {
    Store store(copy_);
    ASSERT_EQ(verify_session(store, "notes").problems, std::vector<std::string>{});
    StoredSession session(store, bytes_, "notes", Access::write);
    before = session.session().fork();
    ASSERT_EQ(told_by(session, before), "");
    session.remember({.source = "more.txt", .text = more});
    later = session.session().fork();
  }
  const SalvagedRows all = salvage_rows(original_ / "sessions.db");
  ASSERT_EQ(all.sources.size(), 8u);
  std::mt19937 random(static_cast<std::uint32_t>(setting("MPLUS_DAMAGE_SEED", 17)));
  std::map<std::string, std::map<std::string, int>> outcomes;
  const std::vector<std::string> kinds{"database", "log", "database", "states", "segments", "marks"};
  for (int trial = 0; trial < trials; ++trial) {
    renew_copy();
    const std::string kind = kinds[static_cast<std::size_t>(trial) % kinds.size()];
    const Change change = damage(random, kind);
    SCOPED_TRACE(fmt::format("trial {}: {} {} at {}", trial, change.file.string(), change.what, change.at));
    std::vector<std::string> said;
    const auto note = [&](const std::string& message) { said.push_back(message); };
    bool sound = false;
    std::string outcome;
    try {
      Store store(copy_, {.warn = note});
      sound = verify_session(store, "notes").sound();
      StoredSession session(store, bytes_, "notes", Access::read, {.warn = note});
      const std::string difference = told_by(session, before);
      EXPECT_TRUE(difference.empty() || !said.empty()) << difference;
      EXPECT_TRUE(difference.empty() || !sound) << "verify says sound: " << difference;
      outcome = difference.empty() ? said.empty() ? "same" : "same, with a note" : "a note";
    } catch (const Error& error) {
      EXPECT_FALSE(sound) << error.what();
      EXPECT_NE(std::string(error.what()).find(copy_.string()), std::string::npos) << error.what();
      outcome = "refused";
    } catch (const std::exception& other) {
      ADD_FAILURE() << "no message for people: " << other.what();
    }
    const std::size_t notes = said.size();
    try {  // a later write
      Store store(copy_, {.warn = note});
      StoredSession session(store, bytes_, "notes", Access::write, {.warn = note});
      session.remember({.source = "more.txt", .text = more});
      const std::string difference = first_difference(session.session(), later, true);
      EXPECT_TRUE(difference.empty() || !sound) << "verify said sound: " << difference;
      EXPECT_TRUE(difference.empty() || notes > 0 || said.size() > notes) << difference;
    } catch (const Error& error) {
      EXPECT_FALSE(sound) << error.what();
    } catch (const std::exception& other) {
      ADD_FAILURE() << "no message for people: " << other.what();
    }
    ++outcomes[kind + " " + change.what][outcome];
    if (HasFailure()) break;
  }
  for (const auto& [what, counts] : outcomes) {
    std::string line;
    for (const auto& [outcome, n] : counts) line += fmt::format("  {} {}", outcome, n);
    fmt::print("{:<24}{}\n", what, line);
  }
}

// Whatever page is damaged: the texts on all others are found.
TEST_F(DamageTest, WhatLiesOnOtherPagesIsSalvaged) {
  write_store();
  const SalvagedRows all = salvage_rows(original_ / "sessions.db");
  ASSERT_EQ(all.sources.size(), 8u);
  std::mt19937 random(3);
  const auto pages = static_cast<std::int64_t>(sizes_["sessions.db"] / 4096);
  for (std::int64_t page = 1; page <= pages; ++page) {
    renew_copy();
    fs::remove(copy_ / "sessions.db-wal");
    const SalvagedRows without_log = salvage_rows(copy_ / "sessions.db");
    overwrite(copy_ / "sessions.db", (page - 1) * 4096, 4096, random);
    const SalvagedRows left = salvage_rows(copy_ / "sessions.db");
    for (const auto& [id, source] : without_log.sources)
      if (without_log.pages.at(id).count(page) == 0) {
        EXPECT_TRUE(left.sources.count(id)) << "page " << page << ", source " << id;
      }
  }
}

}  // namespace
}  // namespace mplus::store
