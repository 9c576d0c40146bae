// A session written again under another tokenizer: as if that one had been there from the beginning.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "mplus/core/error.h"
#include "mplus/engine/replay.h"
#include "mplus/store/damage/verify.h"
#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

class RebuildTest : public TextStoreTest {
 protected:
  void expect_sound(Store& store, const std::string& name) {
    VerifyReport report = verify_session(store, name);
    verify_by_replay(store, words_, name, report);
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
    EXPECT_EQ(report.replay, "equal, bit for bit");
  }
};

TEST_F(RebuildTest, UnderAnotherTokenizerItEqualsWritingUnderIt) {
  ASSERT_NE(bytes_.shape_id(), words_.shape_id());
  ASSERT_LT(words_.tokenizer().encode(story(500, 1)).size(),
            bytes_.tokenizer().encode(story(500, 1)).size() * 2 / 3);
  const std::string question = "where in the harbour is the lamp", later = "and then?";
  engine::GenerateOptions options;
  options.max_tokens = 8;
  options.reread = 2;
  options.recall.rule = RecallRule::consensus;
  Store store(folder_);
  std::vector<std::string> answers;
  {
    StoredSession session(store, bytes_, "notes", Access::write, {.seed = 5, .state_every = 3});
    session.remember({.source = "long", .text = story(450, 1)});
    session.remember({.source = "short", .text = "a lamp"});
    session.flush();
    answers.push_back(session.say(question, options).text);
    session.remember({.source = "other", .text = story(300, 2)});
    answers.push_back(session.say(later, options).text);
  }
  rebuild_session(store, words_, "notes");

  engine::Session plain(words_, 5);
  const auto say = [&](const std::string& message, const std::string& answer) {
    const std::vector<io::TokenId> ids = words_.tokenizer().encode(answer);
    const std::vector<std::int64_t> two(2);  // as many chunks were read again; which ones is found anew
    engine::replay(plain,
                   engine::TurnTaken{.message = message,
                                     .answer = answer,
                                     .answer_ids = ids,
                                     .answer_read = std::max<std::int64_t>(0, std::ssize(ids) - 1),
                                     .recall = recall_rule_name(*options.recall.rule),
                                     .reread = two},
                   false);
  };
  plain.remember(story(450, 1), "long");
  plain.remember("a lamp", "short");
  plain.flush();
  say(question, answers[0]);
  plain.remember(story(300, 2), "other");
  say(later, answers[1]);
  {
    StoredSession reader(store, words_, "notes", Access::read);
    expect_same_session(reader.session(), plain);
    EXPECT_EQ(reader.info().turns, 2);
  }
  expect_sound(store, "notes");
}

// What was seen of short-term memory is in the journal, also where an answer is so long that part of the
// window is written while it is given.
TEST_F(RebuildTest, TurnsReadOverWhatTheyRecalledReplayBitForBit) {
  engine::GenerateOptions options;
  options.max_tokens = words_.window_tokens() + 10;
  options.recall.rule = RecallRule::consensus;
  options.recall.over_everything = true;
  options.recall.read_over = ReadOver::recalled;
  Store store(folder_);
  {
    StoredSession session(store, words_, "notes", Access::write, {.seed = 5, .state_every = 3});
    session.remember({.source = "long", .text = story(900, 1)});
    const std::int64_t updates = session.session().memory().updates();
    const engine::Answer answer = session.say("where in the harbour is the lamp", options);
    EXPECT_EQ(answer.seen_births.size(), answer.recalled_births.size());
    EXPECT_GT(session.session().memory().updates(), updates) << "nothing was written while it spoke";
    options.max_tokens = 8;
    session.say("and then?", options);
  }
  expect_sound(store, "notes");
}

TEST_F(RebuildTest, ADocumentThatWasStoppedIsReadOnceAndGoesOn) {
  const std::string stopped = story(450, 3), unfinished = story(450, 4);
  Store store(folder_);
  {
    StoredSession session(store, bytes_, "notes", Access::write);
    const auto stop_after = [](int updates) { return [=](auto, auto) mutable { return updates-- > 0; }; };
    ASSERT_FALSE(session.remember({.source = "stopped", .text = stopped}, stop_after(3)).complete);
    session.remember({.source = "between", .text = story(100, 5)});
    ASSERT_TRUE(session.remember({.source = "stopped", .text = stopped}).complete);
    ASSERT_FALSE(session.remember({.source = "unfinished", .text = unfinished}, stop_after(4)).complete);
  }
  const std::int64_t events = store.get("notes").events;
  ASSERT_EQ(events, 4);
  rebuild_session(store, words_, "notes");
  EXPECT_EQ(store.get("notes").events, events);
  expect_sound(store, "notes");
  {
    StoredSession session(store, words_, "notes", Access::write);
    ASSERT_FALSE(session.document({.source = "unfinished", .text = unfinished}).complete);
    ASSERT_TRUE(session.remember({.source = "unfinished", .text = unfinished}).complete);
    std::map<std::string, std::int64_t> read;  // bytes of each document, which follow one another
    const engine::Record& record = session.session().record();
    for (std::int64_t update = 0; update < record.updates(); ++update)
      for (const engine::Span& span : record.spans(update)) {
        std::int64_t& end = read[record.source(span.source).name];
        ASSERT_EQ(span.byte_begin, end) << record.source(span.source).name;
        end = span.byte_end;
      }
    EXPECT_EQ(read["stopped"], std::ssize(stopped));
    EXPECT_EQ(read["unfinished"], std::ssize(unfinished));
  }
  expect_sound(store, "notes");
}

TEST_F(RebuildTest, WhatItTakesIsKnownBefore) {
  Store store(folder_);
  {
    StoredSession session(store, bytes_, "notes", Access::write);
    session.remember({.source = "text", .text = story(500, 1)});
    session.remember({.source = "gone", .text = story(300, 2)});
    session.undo(1);
  }
  const auto tokens = std::ssize(words_.tokenizer().encode(story(500, 1)));
  const RebuildCost cost = rebuild_cost(store, words_, "notes");
  EXPECT_EQ(cost.tokens, tokens);
  rebuild_session(store, words_, "notes");
  const StoredSession after(store, words_, "notes", Access::read);
  EXPECT_EQ(cost.writes, after.session().memory().updates());
}

// A rebuild takes hours with a large model: it may be stopped, or killed, and goes on.
class StoppedRebuildTest : public RebuildTest {
 protected:
  StoppedRebuildTest() : home_(folder_ / "home") {}

  // Documents short and long, one stopped, one undone, a conversation: under the tokenizer of bytes.
  void write() {
    engine::GenerateOptions options = tokens(6);
    options.recall.rule = RecallRule::consensus;
    const auto stop_after = [](int updates) { return [=](auto, auto) mutable { return updates-- > 0; }; };
    Store store(home_);
    StoredSession session(store, bytes_, "notes", Access::write, {.seed = 5, .state_every = 3});
    session.remember({.source = "short", .text = "a lamp"});
    session.remember({.source = "long", .text = story(900, 1)});
    session.remember({.source = "undone", .text = story(200, 2)});
    session.undo(1);
    session.say("where in the harbour is the lamp", options);
    ASSERT_FALSE(session.remember({.source = "stopped", .text = story(900, 3)}, stop_after(6)).complete);
    session.say("and then", options);
    session.flush();
    ASSERT_TRUE(session.remember({.source = "stopped", .text = story(900, 3)}).complete);
    session.remember({.source = "last", .text = story(600, 4)});
  }
  // Kept after every other write; `progress` sees each.
  StoredOptions often(std::function<bool(std::int64_t)> progress = {}) {
    StoredOptions options;
    options.state_every = 2;
    options.warn = [this](const std::string& message) { said_.push_back(message); };
    options.rebuild_progress = std::move(progress);
    return options;
  }
  // Stopped once so many writes are done; the store keeps two of three.
  void stop_after(Store& store, std::int64_t writes) {
    std::string message;
    EXPECT_EQ(error_of(
                  [&] {
                    rebuild_session(store, words_, "notes",
                                    often([=](std::int64_t done) { return done < writes; }));
                  },
                  &message),
              ErrorCode::cancelled);
    EXPECT_NE(message.find("goes on there"), std::string::npos) << message;
  }
  // Memory and journal.
  void expect_same(Store& store, Store& expected) {
    StoredSession a(store, words_, "notes", Access::read), b(expected, words_, "notes", Access::read);
    expect_same_session(a.session(), b.session());
    const auto x = a.journal().events(), y = b.journal().events();
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].kind, y[i].kind);
      EXPECT_EQ(x[i].token_begin, y[i].token_begin) << "event " << i;
      EXPECT_EQ(x[i].token_end, y[i].token_end) << "event " << i;
      EXPECT_EQ(x[i].byte_begin, y[i].byte_begin) << "event " << i;
      EXPECT_EQ(x[i].byte_end, y[i].byte_end) << "event " << i;
      EXPECT_EQ(x[i].complete, y[i].complete);
      EXPECT_EQ(x[i].answer_ids, y[i].answer_ids);
      EXPECT_EQ(x[i].recalled_births, y[i].recalled_births) << "event " << i;
      EXPECT_EQ(x[i].details, y[i].details);
    }
  }
  void expect_nothing_is_left(Store& store) {
    EXPECT_FALSE(store.rebuild_left(store.get("notes").id));
    EXPECT_EQ(store.database().integer("SELECT count(*) FROM sessions"), 1);
    std::set<std::string> named;
    Statement row = store.database().prepare("SELECT file FROM states UNION SELECT file FROM segments");
    while (row.step()) named.insert(row.text(0));
    std::set<std::string> files;
    for (const char* part : {"states", "segments"})
      for (const auto& entry : std::filesystem::directory_iterator(store.folder() / part))
        files.insert(entry.path().filename().string());
    EXPECT_EQ(files, named);
  }
  std::filesystem::path copy(const std::string& name) {
    const auto options =
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy(home_, folder_ / name, options);
    return folder_ / name;
  }
  bool was_said(const std::string& words) const {
    return std::any_of(said_.begin(), said_.end(),
                       [&](const std::string& s) { return s.find(words) != std::string::npos; });
  }

  std::filesystem::path home_;
  std::vector<std::string> said_;
};

// As a process leaves the store that is killed there, after any write.
TEST_F(StoppedRebuildTest, KilledAnywhereItGoesOnToTheSameBytes) {
  write();
  engine::Session before(bytes_, 0);
  {
    Store store(home_);
    before = StoredSession(store, bytes_, "notes", Access::read).session().fork();
  }
  std::vector<std::int64_t> writes;
  Store whole(home_);
  rebuild_session(whole, words_, "notes", often([&](std::int64_t done) {
                    copy(fmt::format("killed{}", writes.size()));
                    writes.push_back(done);
                    return true;
                  }));
  expect_sound(whole, "notes");
  expect_nothing_is_left(whole);
  ASSERT_GT(writes.size(), 12u);
  std::int64_t least = writes.back();  // that are written again
  for (std::size_t moment = 0; moment < writes.size(); ++moment) {
    SCOPED_TRACE(fmt::format("after {} of {} writes", writes[moment], writes.back()));
    Store store(folder_ / fmt::format("killed{}", moment));
    ASSERT_EQ(store.list().size(), 1u) << "what is half written is no session";
    ASSERT_TRUE(verify_session(store, "notes").sound());
    {
      StoredSession reader(store, bytes_, "notes", Access::read);
      expect_same_session(reader.session(), before);
    }
    const RebuildCost cost = rebuild_cost(store, words_, "notes");
    EXPECT_GE(cost.written + 2, writes[moment]);
    std::int64_t first = -1;
    rebuild_session(store, words_, "notes", often([&](std::int64_t done) {
                      if (first < 0) first = done;
                      return true;
                    }));
    EXPECT_GE(first, cost.written);
    least = std::min(least, writes.back() - cost.written);
    expect_same(store, whole);
    expect_nothing_is_left(store);
    if (HasFailure()) break;
  }
  EXPECT_LT(least, 4) << "none went on near the end";
  EXPECT_TRUE(said_.empty()) << said_.front();
}

TEST_F(StoppedRebuildTest, StoppedTwiceAndToldMoreBetweenIsTheSame) {
  write();
  Store store(home_);
  stop_after(store, 3);
  const auto left = store.list().at(0).rebuild;
  ASSERT_TRUE(left);
  EXPECT_EQ(left->updates, 3);
  EXPECT_EQ(left->target.shape_id, words_.shape_id());
  EXPECT_GT(left->disk_bytes, 0);
  stop_after(store, 7);
  EXPECT_EQ(store.rebuild_left(store.get("notes").id)->updates, 7);
  {
    StoredSession session(store, bytes_, "notes", Access::write);
    session.remember({.source = "told meanwhile", .text = story(300, 6)});
  }
  std::int64_t first = -1;
  rebuild_session(store, words_, "notes", often([&](std::int64_t done) {
                    if (first < 0) first = done;
                    return true;
                  }));
  EXPECT_GE(first, 7);
  EXPECT_TRUE(said_.empty()) << said_.front();
  expect_nothing_is_left(store);
  expect_sound(store, "notes");

  home_ = folder_ / "undisturbed";
  write();
  Store undisturbed(home_);
  {
    StoredSession session(undisturbed, bytes_, "notes", Access::write);
    session.remember({.source = "told meanwhile", .text = story(300, 6)});
  }
  rebuild_session(undisturbed, words_, "notes");
  expect_same(store, undisturbed);
}

// What it had read is no longer so: it begins anew, and says why.
TEST_F(StoppedRebuildTest, WhatWasChangedOrDamagedSinceBeginsAnew) {
  write();
  {
    Store store(home_);
    stop_after(store, 9);
  }
  const auto flip_last = [](const std::filesystem::path& file) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(-3, std::ios::end);
    const auto byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(-3, std::ios::end);
    stream.put(byte);
  };
  const std::map<std::string, std::function<void(Store&)>> changes{
      {"undone, forgotten",
       [&](Store& store) { StoredSession(store, bytes_, "notes", Access::write).undo(7); }},
      {"checksum",
       [&](Store& store) {
         const std::int64_t id = store.rebuild_left(store.get("notes").id)->id;
         flip_last(store.segment_path(store.segments(store.states(id).at(0).id).at(0).file.file));
       }},
      {"bytes expected",
       [&](Store& store) {
         const std::int64_t id = store.rebuild_left(store.get("notes").id)->id;
         std::filesystem::resize_file(store.state_path(store.states(id).at(0).file), 1000);
       }},
      {"not what was stored",
       [&](Store& store) { store.database().execute("UPDATE events SET details = '[]' WHERE session = 2"); }},
      {"is damaged",
       [&](Store& store) { store.database().execute("UPDATE sessions SET seed = 6 WHERE id = 2"); }},
  };
  int number = 0;
  for (const auto& [words, change] : changes) {
    SCOPED_TRACE(words);
    Store store(copy(fmt::format("changed{}", number++)));
    change(store);
    EXPECT_EQ(store.list().size(), 1u);
    said_.clear();
    EXPECT_EQ(rebuild_cost(store, words_, "notes").written > 0,
              words == "checksum" || words == "not what was stored");
    rebuild_session(store, words_, "notes", often());
    EXPECT_TRUE(was_said(words)) << (said_.empty() ? "" : said_.front());
    EXPECT_TRUE(was_said("written again from the first one"));
    expect_sound(store, "notes");
    expect_nothing_is_left(store);
  }
}

TEST_F(StoppedRebuildTest, AnotherTargetIsRefusedUntilItIsDropped) {
  write();
  Store store(home_);
  stop_after(store, 5);
  for (const auto& rebuild : std::vector<std::function<void()>>{
           [&] { rebuild_session(store, bytes_, "notes"); }, [&] { rebuild_cost(store, bytes_, "notes"); },
           [&] { rebuild_session(store, words_, "notes", {}, RowFormat::int8); }}) {
    std::string message;
    EXPECT_EQ(error_of(rebuild, &message), ErrorCode::invalid_argument);
    EXPECT_NE(message.find("stopped after 5 writes"), std::string::npos) << message;
    EXPECT_NE(message.find("--drop"), std::string::npos) << message;
  }
  EXPECT_EQ(store.drop_rebuild("notes")->updates, 5);
  expect_nothing_is_left(store);
  EXPECT_FALSE(store.drop_rebuild("notes"));
  rebuild_session(store, words_, "notes", often(), RowFormat::int8);
  expect_sound(store, "notes");
}

// It holds what the session's texts left in memory, so it goes where they go.
TEST_F(StoppedRebuildTest, ItGoesWithWhatIsForgottenPurgedOrDeleted) {
  write();
  {
    Store store(home_);
    stop_after(store, 9);
  }
  for (const bool exact : {false, true}) {
    Store store(copy(fmt::format("forgotten{}", exact)));
    StoredSession session(store, bytes_, "notes", Access::write, often());
    session.forget("long", exact);
    EXPECT_TRUE(was_said("stopped after 9 writes"));
    expect_nothing_is_left(store);
    said_.clear();
  }
  {
    Store store(copy("purged"));
    const Store::PurgeReport report = store.purge("notes");
    ASSERT_EQ(report.events, 1);
    EXPECT_EQ(report.rebuild->updates, 9);
    expect_nothing_is_left(store);
    EXPECT_FALSE(store.purge("notes").rebuild);
  }
  Store store(copy("deleted"));
  store.remove("notes");
  EXPECT_EQ(store.database().integer("SELECT count(*) FROM sessions"), 0);
  for (const char* part : {"states", "segments"})
    EXPECT_TRUE(std::filesystem::is_empty(store.folder() / part)) << part;
}

TEST_F(RebuildTest, RefusedOrStoppedItLeavesTheSessionAsItWas) {
  Store store(folder_);
  {
    StoredSession session(store, bytes_, "notes", Access::write);
    session.remember({.source = "text", .text = story(500, 1)});
    session.remember(document(random_ids(700, 1), "numbers"));
  }
  const auto expect_refusal = [&](StoredOptions options, ErrorCode code, const char* words) {
    try {
      rebuild_session(store, words_, "notes", std::move(options));
      ADD_FAILURE() << "it was rebuilt";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect_refusal({}, ErrorCode::invalid_argument, "numbers");  // ids mean nothing to another tokenizer
  StoredOptions stopping;
  stopping.replay_progress = [](std::int64_t done, std::int64_t) { return done < 2; };
  expect_refusal(stopping, ErrorCode::cancelled, "stopped");

  engine::Session plain(bytes_, 0);
  plain.remember(story(500, 1), "text");
  plain.remember_ids(random_ids(700, 1), "numbers");
  EXPECT_TRUE(verify_session(store, "notes").sound());
  StoredSession session(store, bytes_, "notes", Access::write);
  expect_same_session(session.session(), plain);
  session.forget("numbers", true);
  session.close();
}

}  // namespace
}  // namespace mplus::store
