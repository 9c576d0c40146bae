#include "mplus/memory/settling.h"

namespace mplus::memory {

void Settling::finish(ThreadPool* threads) {
  if (done_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  if (done_.load(std::memory_order_relaxed)) return;
  const auto one_layer = [&](std::int64_t i, int) { settle(layers_[static_cast<std::size_t>(i)]); };
  if (threads) {
    threads->run(std::ssize(layers_), one_layer);
  } else {
    for (std::int64_t i = 0; i < std::ssize(layers_); ++i) one_layer(i, 0);
  }
  layers_.clear();
  segment_.reset();
  gone_.clear();
  done_.store(true, std::memory_order_release);
}

// Values that go before those that come: they may change places.
void Settling::settle(const Layer& layer) const {
  RowsView slots = layer.slots->view();
  slots.slots = nullptr;  // by slot
  if (segment_)
    for (std::size_t i = 0; i < layer.dropped.size(); ++i)
      segment_->put(layout_, layer.layer, layer.first + static_cast<std::int64_t>(i), slots,
                    layer.dropped[i]);
  layer.slots->put(layout_, layer.taken, layer.rows);
}

}  // namespace mplus::memory
