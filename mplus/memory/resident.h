// A second copy of a memory's rows on the device that reads them, so that a read need not bring them there
// again. The host's rows are what counts. This follows them: who changes a row there says so here, and
// `bring` uploads what is missing. Blocks on the device never change, so that copies of a memory share them.
// For the engine's thread alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mplus/core/device_buffer.h"
#include "mplus/kernels/kv.h"
#include "mplus/memory/layout.h"

namespace mplus::memory {

struct RowsView;

class ResidentRows {
 public:
  explicit ResidentRows(std::int64_t rows) : places_(static_cast<std::size_t>(rows)) {}

  void append(std::int64_t rows);  // behind the others, not there yet
  void replace(std::int64_t row);  // its values on the device are no longer true
  void remove(const std::int64_t* sorted, std::int64_t count);

  // Afterwards every row of `rows` (plain ones, those that this follows) is on the queue's device. False: the
  // device has no room for them.
  bool bring(kernels::Queue& queue, const Layout& layout, const RowsView& rows);
  // As of the last bring.
  std::span<const kernels::RowBlock> blocks() const { return views_; }
  kernels::RowPlace place(std::int64_t row) const { return *places_[static_cast<std::size_t>(row)]; }

 private:
  struct Block {
    Buffer memory;
    std::int64_t rows = 0;
  };
  void leave(std::optional<kernels::RowPlace>& place);
  void give_back_blocks();  // those of which little is left; their rows are to be uploaded again
  bool upload(kernels::Queue& queue, const Layout& layout, const RowsView& rows,
              std::span<const std::int64_t> missing);

  Device device_;
  std::vector<std::optional<kernels::RowPlace>> places_;  // [rows]; none: not on the device
  std::vector<std::shared_ptr<const Block>> blocks_;
  std::vector<std::int64_t> living_;      // rows of each block that are still in use
  std::vector<kernels::RowBlock> views_;  // of the blocks; empty tensors where one was given back
};

// The same for retriever keys of one layer of a segment, which are only ever added behind the last.
class ResidentKeys {
 public:
  // The given keys on the queue's device; `capacity`: how many there may be in the end. Empty: no room there.
  ConstTensor bring(kernels::Queue& queue, const ConstTensor& keys, std::int64_t capacity);

 private:
  std::unique_ptr<Buffer> memory_;
  std::int64_t there_ = 0;
};

}  // namespace mplus::memory
