// One session's memory: short-term slots, long-term store and the newest rows' hidden states (the tail, input
// of the next write), for every layer that keeps one. Copying it is a fork: segments are shared, slots are
// copied when one side writes. One thread at a time; a Memory that nobody writes may be read by many.
//
// An update leaves the moving of values on the host for later (settling.h); who looks at rows finds them
// moved. What a pass on another device made stays there for the next one, and the tail comes to the host when
// somebody asks for it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/thread_pool.h"
#include "mplus/memory/long_term.h"
#include "mplus/memory/settling.h"
#include "mplus/memory/tail.h"

namespace mplus::memory {

// Slots to drop per layer, ascending: recorded ones replace the random choice (goldens, replay).
using Drops = std::vector<std::vector<std::int64_t>>;

class Memory {
 public:
  Memory(const Layout& layout, std::uint64_t seed);

  const Layout& layout() const { return layout_; }
  std::uint64_t seed() const { return seed_; }
  std::int64_t updates() const { return updates_; }

  RowsView short_term(std::int64_t layer) const {
    settle();
    return slots_[static_cast<std::size_t>(layer)]->view();
  }
  ResidentRows& resident(std::int64_t layer) const {  // of the short-term rows
    return slots_[static_cast<std::size_t>(layer)]->resident();
  }
  const LongTermStore& long_term() const {
    settle();
    return long_term_;
  }
  std::span<const float> tail(std::int64_t layer) const;  // [tail_rows(), d]; of a layer that keeps rows
  std::int64_t tail_rows() const { return tail_ ? tail_->rows() : 0; }
  // The same where it lies on that device, else in host memory.
  ConstTensor tail_near(const Device& device, std::int64_t layer) const;

  // One update: `layers` holds what the write pass made for each layer that keeps rows, all of n ≤ K. Random
  // slots (or `drops`) make room and move to the long-term store; the rows take the highest births of the
  // update's block. Threads of the pass's queue share the layers, and what its device made stays there;
  // nothing else depends on it.
  void update(std::span<const NewRows> layers, const Drops* drops = nullptr, kernels::Queue* queue = nullptr);
  // Values that an update has still to move on the host are moved now. Whoever looks at rows does so too, but
  // by itself.
  void settle(ThreadPool* threads = nullptr) const {
    if (settling_) settling_->finish(threads);
  }

  // Before an update of n rows: settles, and chooses what will be dropped, which takes a while.
  void get_ready(std::int64_t n, ThreadPool* threads);

  // Rows of these chunks leave short- and long-term memory, and the tail if it is theirs, or others of the
  // same births take their place. Rows written later may carry traces of them.
  void rewrite(const Rewriting& chunks);
  bool equals(const Rewriting& chunks) const;  // rewriting would change nothing, bit for bit
  // Their rows in short- and long-term memory, and the segments that hold some.
  LongTermStore::ChunkCount count(const std::set<std::int64_t>& chunks) const;
  // The same long-term rows, kept elsewhere (LongTermStore::replace).
  void replace_segments(std::size_t first, std::size_t count, std::vector<LongTermStore::Replacement> by) {
    settle();
    long_term_.replace(first, count, std::move(by));
  }

  // How many slots an update with n new rows drops in this layer.
  std::int64_t drop_count(std::int64_t layer, std::int64_t n) const;

  // Loading: replaces what is there. Row counts may differ between layers.
  void load_short_term(std::span<const RowsView> layers);
  void load_tail(std::int64_t rows, std::span<const float> hidden);  // [layers that keep rows, rows, d]
  void load_long_term(LongTermStore store) {
    settle();
    long_term_ = std::move(store);
  }
  void set_updates(std::int64_t updates) { updates_ = updates; }
  void set_seed(std::uint64_t seed) { seed_ = seed; }  // of the drops still to come
  // Of rows still to be dropped; those in the long-term store stay what they are.
  void set_row_format(RowFormat format) { layout_.long_term = format; }

  std::size_t size_bytes() const;  // of living rows and tail

 private:
  Settling::Layer update_layer(std::int64_t layer, const NewRows& rows, const Drops* drops);
  void put_on_device(kernels::Queue& queue, std::span<const Settling::Layer> layers) const;
  void require_slots() const;
  Rows& owned(std::int64_t layer);  // slots that no fork shares
  std::vector<std::int64_t> random_drops(std::int64_t layer, std::int64_t n) const;  // of an update of n rows

  Layout layout_;
  std::uint64_t seed_;
  std::int64_t updates_ = 0;
  std::vector<std::shared_ptr<Rows>> slots_;  // [L]; copied before a write if a fork shares them
  std::shared_ptr<const Tail> tail_;          // replaced whole; null: none yet
  LongTermStore long_term_;
  std::shared_ptr<Settling> settling_;  // of the last update; null: none yet
  struct Chosen {                       // by get_ready, if the memory has stayed what it was
    std::uint64_t seed = 0;
    std::int64_t update = -1, n = 0;
    std::vector<std::int64_t> sizes;  // [L] of the slots
    Drops drops;
  };
  Chosen chosen_;
};

}  // namespace mplus::memory
