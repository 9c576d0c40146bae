#include "mplus/core/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>

#include "mplus/core/error.h"

namespace mplus {
namespace {

TEST(ThreadPool, RunsEveryItemOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (std::int64_t items : {0, 1, 2, 5, 1000}) {
      std::vector<int> count(static_cast<std::size_t>(items), 0);
      pool.run(items, [&](std::int64_t i, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, threads);
        ++count[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::accumulate(count.begin(), count.end(), 0), items);
      for (int c : count) EXPECT_EQ(c, 1);
    }
  }
}

TEST(ThreadPool, ManyShortLoopsBackToBack) {
  ThreadPool pool(2);
  std::atomic<std::int64_t> sum{0};
  for (int round = 0; round < 20'000; ++round) pool.run(4, [&](std::int64_t i, int) { sum += i; });
  EXPECT_EQ(sum, 20'000 * 6);
}

TEST(ThreadPool, RejectsSenselessSizes) {
  for (int threads : {0, -1, 5000}) {
    try {
      ThreadPool pool(threads);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    }
  }
}

}  // namespace
}  // namespace mplus
