// A session written again under another tokenizer: as if that one had been there from the beginning.
#include "mplus/core/error.h"
#include "mplus/store/verify.h"
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
    plain.replay(engine::TurnTaken{.message = message,
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
