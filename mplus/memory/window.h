// The window: text not yet written into memory, newest last, with the keys and values (before RoPE) of the
// tokens that were read already. They are kept in the memory's dtype, so that a saved window continues with
// the same next token. A device that reads them keeps copies, which copies of a window share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/memory/layout.h"

namespace mplus::memory {

class WindowRows {
 public:
  explicit WindowRows(const Layout& layout);
  WindowRows(const WindowRows& other);
  WindowRows(const WindowRows& other, std::int64_t rows);  // the first of another's
  WindowRows& operator=(const WindowRows& other) { return *this = WindowRows(other); }
  WindowRows(WindowRows&&) = default;
  WindowRows& operator=(WindowRows&&) = default;
  ~WindowRows() = default;

  std::int64_t size() const { return n_; }  // rows, the same in every layer between reads
  void reserve(std::int64_t rows);          // so that appending allocates nothing
  // Rows [n, kv] in host memory, in the window's type; commit() once all layers have them.
  void append(std::int64_t layer, ConstTensor k, ConstTensor v);
  void commit(std::int64_t rows) { n_ += rows; }
  void erase(std::int64_t first, std::int64_t count);
  void truncate(std::int64_t rows);
  // Of each layer these alone stay, in rising order and as many in every one.
  void keep(std::span<const std::vector<std::int64_t>> rows);

  const std::byte* k(std::int64_t layer) const { return columns_[static_cast<std::size_t>(layer)].k.data(); }
  const std::byte* v(std::int64_t layer) const { return columns_[static_cast<std::size_t>(layer)].v.data(); }
  // A layer's rows on the queue's device, where what is missing is brought first; in host memory where that
  // is the device, or has no room for them. For the engine's thread alone.
  kernels::RowBlock near(kernels::Queue& queue, std::int64_t layer) const;
  std::size_t row_size_bytes() const { return row_bytes_; }
  std::size_t token_size_bytes() const { return 2 * columns_.size() * row_bytes_; }  // in all layers
  DType dtype() const { return dtype_; }
  void load(std::int64_t layer, std::span<const std::byte> k, std::span<const std::byte> v);  // then commit()

 private:
  struct Columns {
    std::vector<std::byte> k, v;
  };
  // Rows on a device. Windows that share it agree in its rows as far as each says (common_).
  struct Mirror {
    std::shared_ptr<Buffer> memory;  // [L, 2, capacity, kv]
    std::int64_t capacity = 0, filled = 0;
  };
  kernels::RowBlock block(std::int64_t layer) const;  // in host memory
  bool bring(kernels::Queue& queue) const;
  void settle() const;  // nobody else shares the mirror: what this window holds counts
  void forget(std::int64_t from) const { common_ = common_ < from ? common_ : from; }

  DType dtype_;
  std::int64_t kv_;
  std::size_t row_bytes_;
  std::int64_t n_ = 0;
  std::vector<Columns> columns_;  // [L]
  mutable std::shared_ptr<Mirror> mirror_ = std::make_shared<Mirror>();
  mutable std::int64_t common_ = 0;  // the first rows, which all that share the mirror hold
};

}  // namespace mplus::memory
