// The half of an update that moves values on the host: dropped rows to the long-term store, new ones into the
// slots. Who updates a memory leaves it for later, while the device is busy with the next chunk; memories
// that share the rows (forks) share it, too. Done once, by whoever needs the values first.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mplus/core/thread_pool.h"
#include "mplus/memory/segment.h"

namespace mplus::memory {

class Settling {
 public:
  // Of one layer. A memory that holds this keeps the slots until it is done.
  struct Layer {
    Rows* slots = nullptr;
    std::vector<std::int32_t> dropped = {};  // slots whose values go to the store
    std::vector<std::int32_t> taken = {};    // slots that the new rows take, perhaps the same
    NewRows rows = {};
    std::int64_t layer = 0;
    std::int64_t first = 0;  // where the dropped ones come in the segment
  };

  // `segment`: null where there is no store, or nothing was dropped. `gone`: segments to be given back then.
  Settling(const Layout& layout, std::shared_ptr<Segment> segment, std::vector<Layer> layers,
           std::vector<SegmentUse> gone)
      : layout_(layout), segment_(std::move(segment)), layers_(std::move(layers)), gone_(std::move(gone)) {}

  // Threads share the layers. Safe from many threads at once, each with threads of its own or none.
  void finish(ThreadPool* threads);

 private:
  void settle(const Layer& layer) const;

  Layout layout_;
  std::shared_ptr<Segment> segment_;
  std::vector<Layer> layers_;
  std::vector<SegmentUse> gone_;
  std::mutex mutex_;
  std::atomic<bool> done_{false};
};

}  // namespace mplus::memory
