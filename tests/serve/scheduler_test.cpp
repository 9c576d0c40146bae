// Jobs side by side. What they compute is the engine's; here they wait, fail and end.
#include "mplus/serve/run/scheduler.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "mplus/engine/generation.h"
#include "tests/store/stored_fixture.h"

namespace mplus::serve {
namespace {

class SchedulerTest : public store::StoreTest {
 protected:
  Scheduler scheduler_{engine_.runner(), {.most_jobs = 3}};
};

TEST_F(SchedulerTest, JobsWaitForEachOtherAndEnd) {
  bool first = false, second = false;
  ASSERT_TRUE(scheduler_.submit([&](Job& job) -> engine::Steps<> {
    co_await job.until([&] { return second; });
    first = true;
  }));
  ASSERT_TRUE(scheduler_.submit([&](Job&) -> engine::Steps<> {
    second = true;
    co_return;
  }));
  scheduler_.stop();
  scheduler_.run();
  EXPECT_TRUE(first);
  EXPECT_EQ(scheduler_.jobs(), 0u);
}

TEST_F(SchedulerTest, MoreThanTheMostAreRefused) {
  const auto nothing = [](Job&) -> engine::Steps<> { co_return; };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(scheduler_.submit(nothing));
  EXPECT_FALSE(scheduler_.submit(nothing));
  scheduler_.stop();
  scheduler_.run();
  EXPECT_FALSE(scheduler_.submit(nothing));  // it has ended
}

TEST_F(SchedulerTest, OneThatFailsLeavesTheOthersAlone) {
  bool done = false;
  ASSERT_TRUE(scheduler_.submit([](Job& job) -> engine::Steps<> {
    co_await job.until([] { return true; });
    throw std::runtime_error("a mistake");
  }));
  ASSERT_TRUE(scheduler_.submit([&](Job& job) -> engine::Steps<> {
    co_await job.until([] { return true; });
    done = true;
  }));
  scheduler_.stop();
  scheduler_.run();
  EXPECT_TRUE(done);
}

TEST_F(SchedulerTest, WorkIsDoneAsByTheSessionItself) {
  const std::vector<io::TokenId> prompt = store::random_ids(12, 1);
  engine::Session session(engine_, 7);
  session.remember_ids(store::random_ids(600, 2), "text");
  engine::GenerateOptions options;
  options.max_tokens = 6;
  const std::int64_t before = engine_.runner().read_passes();
  const engine::Answer alone = session.generate_ids(prompt, options);
  const std::int64_t passes = engine_.runner().read_passes() - before;
  std::vector<engine::Answer> answers(3);
  for (engine::Answer& answer : answers)
    ASSERT_TRUE(scheduler_.submit([&](Job&) -> engine::Steps<> {
      engine::Generation generation = engine::Generation::generate_ids(session, prompt, options);
      co_await work_of(generation);
      answer = generation.answer();
    }));
  scheduler_.stop();
  scheduler_.run();
  for (const engine::Answer& answer : answers) EXPECT_EQ(answer.tokens, alone.tokens);
  EXPECT_EQ(engine_.runner().read_passes() - before, 2 * passes) << "three take the passes of one";
}

// Beside a token that waits there is room for one prompt in a step: not the shortest ends first, but the one
// whose request came first.
TEST_F(SchedulerTest, WhoCameFirstIsAnsweredFirst) {
  Scheduler scheduler(engine_.runner(), {.step_seconds = 0});
  engine::Session session(engine_, 7);
  std::vector<std::size_t> ended;
  const auto ask = [&](std::size_t tokens, std::int64_t answer) {
    return scheduler.submit([&, tokens, answer](Job&) -> engine::Steps<> {
      engine::GenerateOptions options;
      options.max_tokens = answer;
      const std::vector<io::TokenId> prompt = store::random_ids(tokens, 3);
      engine::Generation generation = engine::Generation::generate_ids(session, prompt, options);
      co_await work_of(generation);
      ended.push_back(tokens);
    });
  };
  ASSERT_TRUE(ask(10, 40));
  for (const std::size_t tokens : {200U, 130U, 20U}) ASSERT_TRUE(ask(tokens, 1));
  scheduler.stop();
  scheduler.run();
  EXPECT_EQ(ended, (std::vector<std::size_t>{200, 130, 20, 10}));
}

TEST(PromptBudget, IsAsManyRowsAsFitIntoTheTime) {
  PromptBudget budget(0.1);
  for (int i = 0; i < 50; ++i) {  // 20 ms for the tokens, half a millisecond for each row
    budget.note(0, 0.02);
    budget.note(budget.rows(), 0.02 + 0.0005 * static_cast<double>(budget.rows()));
  }
  EXPECT_NEAR(static_cast<double>(budget.rows()), 160, 2);
  for (int i = 0; i < 50; ++i) budget.note(0, 0.5);  // tokens alone take longer: still a few rows go on
  EXPECT_EQ(budget.rows(), 32);
  for (int i = 0; i < 50; ++i) budget.note(0, 0.001);
  for (int i = 0; i < 50; ++i) budget.note(64, 0.0011);  // a fast machine: no more than share a pass
  EXPECT_EQ(budget.rows(), 512);
}

TEST_F(SchedulerTest, SomethingFromOutsideWakesIt) {
  std::atomic<bool> ready = false;
  bool done = false;
  ASSERT_TRUE(scheduler_.submit([&](Job& job) -> engine::Steps<> {
    co_await job.until([&] { return ready.load(); });
    done = true;
  }));
  std::thread outside([&] {
    ready = true;
    scheduler_.wake();
    scheduler_.stop();
  });
  scheduler_.run();
  outside.join();
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace mplus::serve
