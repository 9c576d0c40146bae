// A document and a turn in steps, beside others.
#include "mplus/store/stored_steps.h"

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

}  // namespace
}  // namespace mplus::store
