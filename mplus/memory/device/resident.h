// A second copy of a memory's rows on the device that reads them, so that a read need not bring them there
// again: the same slots, of the same numbers. The host's rows are what counts. This follows them: who changes
// a slot there says so here, and `bring` uploads what is missing; a write pass on that device puts its rows
// there itself. Copies of a memory share the slots there until one of them is written to.
// For the engine's thread alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/memory/layout.h"

namespace mplus::memory {

struct NewRows;
struct RowsView;

class ResidentRows {
 public:
  explicit ResidentRows(std::int64_t slots) : there_(static_cast<std::size_t>(slots)) {}

  void change(std::span<const std::int32_t> slots);  // their values on the device are no longer true

  // Afterwards every row of `rows` (plain ones, those that this follows) is on the queue's device, in its
  // slot. False: the device has no room for them.
  bool bring(kernels::Queue& queue, const Layout& layout, const RowsView& rows);
  std::size_t room(const kernels::Queue& queue, const Layout& layout) const;  // that bring() may ask for
  // New rows of this layer, which the queue's device has, are to be copied to these slots: adds the copies,
  // which the caller makes before anything else is asked of this. None where the device has no room.
  void put(kernels::Queue& queue, const Layout& layout, std::span<const std::int32_t> slots,
           const NewRows& rows, std::vector<kernels::RowScatter>& copies);

  // As of the last bring, by slots.
  kernels::RowBlock block() const { return {columns_[0], columns_[1]}; }
  const Tensor& keys() const { return columns_[2]; }  // empty without a retriever

 private:
  bool own(kernels::Queue& queue, const Layout& layout);  // slots there that nobody shares

  std::vector<std::uint8_t> there_;  // [slots]: whether the device has what the host has
  bool changed_ = true;              // since the last bring
  std::shared_ptr<Buffer> memory_;   // null: none yet
  Tensor columns_[3];                // keys, values, retriever keys
};

// The same for retriever keys of one layer of a segment, which are only ever added behind the last, and for
// their births.
class ResidentKeys {
 public:
  struct There {
    ConstTensor keys;
    ConstTensor births;  // [n] i64
  };
  // The given keys on the queue's device; `capacity`: how many there may be in the end. Empty: no room there.
  There bring(kernels::Queue& queue, const ConstTensor& keys, const std::int64_t* births,
              std::int64_t capacity);
  // Bytes that bring() would ask the device for, but for some to round up.
  std::size_t room(const kernels::Queue& queue, const ConstTensor& keys, std::int64_t capacity) const;

 private:
  std::shared_ptr<Buffer> memory_;  // births, then keys
  std::int64_t capacity_ = 0;
  std::int64_t there_ = 0;
};

// The same for keys and values of one layer of a segment, in the format they are kept in.
class ResidentColumns {
 public:
  // Afterwards the given rows of host memory are on the queue's device; `capacity`: how many there may be in
  // the end. False: no room there.
  bool bring(kernels::Queue& queue, const kernels::RowBlock& rows, std::int64_t capacity);
  // Bytes that bring() would ask the device for, and those it would copy; both 0: they are all there.
  struct Missing {
    std::size_t room = 0, copied = 0;
  };
  Missing missing(const kernels::Queue& queue, const kernels::RowBlock& rows, std::int64_t capacity) const;
  // The first ones of these rows, where they all are on the device; else the rows themselves.
  kernels::RowBlock near(const kernels::Queue& queue, const kernels::RowBlock& rows) const;

 private:
  kernels::RowBlock all(const kernels::RowBlock& like, std::int64_t rows) const;

  std::shared_ptr<Buffer> memory_;  // keys, then values
  std::int64_t capacity_ = 0;
  std::int64_t there_ = 0;
};

}  // namespace mplus::memory
