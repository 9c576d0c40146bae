// The window: text not yet written into memory, newest last, with the keys and values (before RoPE) of the
// tokens that were read already. They are kept in the memory's dtype, so that a saved window continues with
// the same next token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mplus/core/tensor.h"
#include "mplus/memory/layout.h"

namespace mplus::memory {

class WindowRows {
 public:
  explicit WindowRows(const Layout& layout);

  std::int64_t size() const { return n_; }  // rows, the same in every layer between reads
  void reserve(std::int64_t rows);          // so that appending allocates nothing
  // Rows [n, kv] in host memory, in the window's type; commit() once all layers have them.
  void append(std::int64_t layer, ConstTensor k, ConstTensor v);
  void commit(std::int64_t rows) { n_ += rows; }
  void erase(std::int64_t first, std::int64_t count);
  void truncate(std::int64_t rows);

  const std::byte* k(std::int64_t layer) const { return columns_[static_cast<std::size_t>(layer)].k.data(); }
  const std::byte* v(std::int64_t layer) const { return columns_[static_cast<std::size_t>(layer)].v.data(); }
  std::size_t row_size_bytes() const { return row_bytes_; }
  DType dtype() const { return dtype_; }
  void load(std::int64_t layer, std::span<const std::byte> k, std::span<const std::byte> v);  // then commit()

 private:
  struct Columns {
    std::vector<std::byte> k, v;
  };
  DType dtype_;
  std::int64_t kv_;
  std::size_t row_bytes_;
  std::int64_t n_ = 0;
  std::vector<Columns> columns_;  // [L]
};

}  // namespace mplus::memory
