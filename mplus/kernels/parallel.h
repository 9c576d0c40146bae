// Cutting an operation's work over the queue's threads. Handing work to another thread costs some
// microseconds: what is smaller runs on the caller.
#pragma once

#include <cstdint>

#include "mplus/kernels/queue.h"

namespace mplus::kernels {

inline constexpr std::int64_t kParallelWork = 40'000;  // vector-friendly element operations, some 5 µs

// f(item, worker) for every item in [0, items); `work` is the whole loop's cost in element operations.
template <class Function>
void parallel(Queue& queue, std::int64_t items, std::int64_t work, const Function& f) {
  if (work < kParallelWork) {
    for (std::int64_t i = 0; i < items; ++i) f(i, 0);
  } else {
    queue.pool().run(items, f);
  }
}

// f(begin, end) over [0, n) in pieces of equal size, `cost` element operations per element.
template <class Function>
void parallel_ranges(Queue& queue, std::int64_t n, std::int64_t cost, const Function& f) {
  if (n <= 0) return;
  const std::int64_t pieces = n * cost < kParallelWork ? 1 : queue.pool().size();
  const std::int64_t size = (n + pieces - 1) / pieces;
  parallel(queue, pieces, n * cost, [&](std::int64_t piece, int) {
    const std::int64_t begin = piece * size;
    const std::int64_t end = begin + size < n ? begin + size : n;
    if (begin < end) f(begin, end);
  });
}

}  // namespace mplus::kernels
