// A document and a turn in steps, beside others.
#include "mplus/store/session/stored_steps.h"

#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

template <class Task>
void run_some(engine::Engine& engine, Task& task, int most = 1 << 20) {
  for (int i = 0; i < most; ++i) {
    engine::Work* work = task.next_work();
    if (!work) return;
    engine::WorkItem item{work};
    engine.runner().step({&item, 1});
    task.take(std::move(item.result));
  }
}

class StepsTest : public TextStoreTest {
 protected:
  Store store_{folder_ / "store"};
  const std::string text_ = story(400, 3);
};

TEST_F(StepsTest, ADocumentIsTheSame) {
  StoredSession whole(store_, words_, "whole", Access::write),
      stepped(store_, words_, "stepped", Access::write);
  whole.remember({.source = "text", .text = text_});
  StoredIngestion ingestion(stepped, "text", text_);
  run_some(words_, ingestion);
  EXPECT_TRUE(ingestion.result().complete);
  EXPECT_GT(ingestion.result().updates, 3);
  expect_same_session(stepped.session(), whole.session());
}

// Dropped anywhere it leaves what was acknowledged; gone on with, it comes to the same.
TEST_F(StepsTest, ADocumentCanBeDroppedAndGoesOn) {
  StoredSession whole(store_, words_, "whole", Access::write);
  whole.remember({.source = "text", .text = text_});
  for (int steps = 0; steps < 4; ++steps) {  // it has four writes
    StoredSession session(store_, words_, "dropped" + std::to_string(steps), Access::write);
    {
      StoredIngestion ingestion(session, "text", text_);
      run_some(words_, ingestion, steps);
    }
    EXPECT_EQ(session.session().memory().updates(), std::max(0, steps));
    StoredIngestion rest(session, "text", text_);
    run_some(words_, rest);
    expect_same_session(session.session(), whole.session());
  }
}

TEST_F(StepsTest, ATurnIsTheSameAndIsKept) {
  StoredSession whole(store_, words_, "whole", Access::write);
  const engine::Answer answer = whole.say("the lamp in the harbour", tokens(4));
  {
    StoredSession session(store_, words_, "stepped", Access::write);
    StoredTurn turn(session, "the lamp in the harbour", tokens(4));
    run_some(words_, turn);
    EXPECT_EQ(turn.answer().tokens, answer.tokens);
  }
  StoredSession again(store_, words_, "stepped", Access::write);
  expect_same_session(again.session(), whole.session());
}

TEST_F(StepsTest, ATurnThatIsDroppedHasNotHappened) {
  StoredSession session(store_, words_, "notes", Access::write);
  for (int steps = 0; steps < 3; ++steps) {
    StoredTurn turn(session, "the lamp", tokens(8));
    run_some(words_, turn, steps);
  }
  EXPECT_EQ(session.session().turns(), 0);
  EXPECT_EQ(session.say("the lamp", tokens(2)).tokens.size(), 2u);
}

// What makes a memory again takes as many steps as it writes; between them others get theirs.
TEST_F(StepsTest, UndoneForgottenAndFlushedBesideATurnItIsTheSame) {
  const auto fill = [&](StoredSession& session) {
    session.remember({.source = "first", .text = text_});
    session.remember({.source = "secret", .text = story(300, 4)});
    session.say("the lamp in the harbour", tokens(4));
    session.remember({.source = "last", .text = story(350, 5)});
    session.remember({.source = "short", .text = "a lamp"});
  };
  StoredSession whole(store_, words_, "whole", Access::write),
      stepped(store_, words_, "stepped", Access::write), other(store_, words_, "other", Access::write);
  fill(whole);
  fill(stepped);
  const auto beside_a_turn = [&](auto steps) {
    engine::StepsUnderWay under_way(std::move(steps));
    StoredTurn turn(other, "the lamp", tokens(6));
    int count = 0;
    for (bool more = true; more; ++count) {
      run_some(words_, turn, 1);
      more = under_way.next_work() != nullptr;
      run_some(words_, under_way, 1);
    }
    run_some(words_, turn);
    EXPECT_EQ(turn.answer().tokens.size(), 6u);
    return count;
  };
  whole.flush();
  EXPECT_GT(beside_a_turn(stepped.flush_steps()), 1);
  expect_same_session(stepped.session(), whole.session());
  EXPECT_EQ(whole.forget("short", false).removed.updates, 1);
  EXPECT_GT(beside_a_turn(stepped.forget_steps("short", false)), 1);
  expect_same_session(stepped.session(), whole.session());
  EXPECT_EQ(whole.forget("secret", true).sources, std::vector<std::string>{"secret"});
  EXPECT_GT(beside_a_turn(stepped.forget_steps("secret", true)), 5);
  expect_same_session(stepped.session(), whole.session());
  whole.undo(3);
  EXPECT_GT(beside_a_turn(stepped.undo_steps(3)), 1);
  expect_same_session(stepped.session(), whole.session());
  EXPECT_EQ(other.session().turns(), 4);
}

TEST_F(StepsTest, AForgettingThatIsDroppedHasNotHappened) {
  StoredSession session(store_, words_, "notes", Access::write);
  session.remember({.source = "one", .text = "a lamp"});
  session.remember({.source = "two", .text = "a boat"});
  session.flush();
  const engine::Session before = session.session().fork();
  {
    engine::StepsUnderWay<ForgetReport> forgetting(session.forget_steps("one", false));
    ASSERT_NE(forgetting.next_work(), nullptr);
  }
  expect_same_session(session.session(), before);
  EXPECT_EQ(session.forget("one", false).written_again, std::vector<std::string>{"two"});
}

// The journal says that it is undone; who opens the session finds it so.
TEST_F(StepsTest, AnUndoThatIsDroppedIsDoneWhenTheSessionIsOpened) {
  {
    StoredSession session(store_, words_, "notes", Access::write);
    session.remember({.source = "text", .text = text_});
    session.remember({.source = "more", .text = story(300, 4)});
    engine::StepsUnderWay<void> undo(session.undo_steps(1));
    run_some(words_, undo, 1);
    EXPECT_THROW(session.flush(), Error);
  }
  StoredSession whole(store_, words_, "whole", Access::write);
  whole.remember({.source = "text", .text = text_});
  const StoredSession again(store_, words_, "notes", Access::write);
  expect_same_session(again.session(), whole.session());
}

}  // namespace
}  // namespace mplus::store
