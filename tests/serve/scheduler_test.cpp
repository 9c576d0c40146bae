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
