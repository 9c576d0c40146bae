#include "mplus/core/thread_pool.h"

#include <sched.h>

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/platform.h"

namespace mplus {
namespace {

// A decode step runs hundreds of loops of some microseconds each, back to back: a waiting thread looks for a
// while before it sleeps.
constexpr int kSpins = 200'000;

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  if (threads < 1 || threads > 1024)
    fail(ErrorCode::invalid_argument, "threads: expected 1 to 1024, got {}", threads);
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  state_.fetch_add(kNumber);
  state_.notify_all();
  for (auto& t : workers_) t.join();
}

// The caller waits for the workers that came, not for all: one that the system has not woken yet (a busy
// machine) finds the loop closed and costs nothing.
void ThreadPool::run_erased(std::int64_t items, Task task, void* context) {
  task_ = task;
  context_ = context;
  items_ = items;
  next_.store(0, std::memory_order_relaxed);
  const std::uint32_t last = state_.load(std::memory_order_relaxed);
  state_.store((last & ~(kNumber - 1)) + kNumber, std::memory_order_release);
  state_.notify_all();
  take_items(0);
  state_.fetch_or(kClosed, std::memory_order_acq_rel);
  for (int spin = 0; (state_.load(std::memory_order_acquire) & kInside) != 0; ++spin) {
    if (spin < kSpins) {
      pause_spinning();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::take_items(int worker) {
  for (;;) {
    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= items_) return;
    task_(context_, i, worker);
  }
}

void ThreadPool::work(int worker) {
  std::uint32_t seen = 0;
  for (;;) {
    std::uint32_t state = state_.load(std::memory_order_acquire);
    for (int spin = 0; state / kNumber == seen; ++spin) {
      if (spin < kSpins) {
        pause_spinning();
      } else {
        state_.wait(state, std::memory_order_acquire);
      }
      state = state_.load(std::memory_order_acquire);
    }
    if (stop_.load()) return;
    seen = state / kNumber;
    while ((state & kClosed) == 0 && state / kNumber == seen) {
      if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) continue;
      take_items(worker);
      state_.fetch_sub(1, std::memory_order_release);
      break;
    }
  }
}

int default_thread_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::clamp(CPU_COUNT(&set), 1, 1024);
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 1024);
}

}  // namespace mplus
