// A fixed set of worker threads for data-parallel loops. One loop at a time; the calling thread takes part.
// Which worker runs which item never changes a result: items write to disjoint places.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace mplus {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // ≥ 1, the caller included
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return threads_; }

  // Calls f(item, worker) for every item in [0, items); worker is in [0, size()). Returns when all are done.
  // f must not throw and must not call run() again. Allocates nothing.
  template <class F>
  void run(std::int64_t items, F&& f) {
    if (items <= 0) return;
    if (threads_ == 1 || items == 1) {
      for (std::int64_t i = 0; i < items; ++i) f(i, 0);
      return;
    }
    run_erased(
        items,
        [](void* context, std::int64_t i, int worker) {
          (*static_cast<std::remove_reference_t<F>*>(context))(i, worker);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  static constexpr std::uint32_t kClosed = 1u << 15;
  static constexpr std::uint32_t kInside = kClosed - 1;
  static constexpr std::uint32_t kNumber = 1u << 16;
  using Task = void (*)(void*, std::int64_t, int);
  void run_erased(std::int64_t items, Task task, void* context);
  void work(int worker);
  void take_items(int worker);

  int threads_;
  std::vector<std::thread> workers_;
  Task task_ = nullptr;
  void* context_ = nullptr;
  std::int64_t items_ = 0;
  alignas(64) std::atomic<std::int64_t> next_{0};
  // The loop's number (upper 16 bits), whether it is closed to workers, and how many are inside.
  alignas(64) std::atomic<std::uint32_t> state_{kClosed};
  std::atomic<bool> stop_{false};
};

// Threads the program uses unless told otherwise: the cores this process may run on.
int default_thread_count();

}  // namespace mplus
