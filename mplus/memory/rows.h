// Columns of memory rows of one layer: keys and values before RoPE, retriever keys, births, hidden states if
// kept. Keys and values are plain, or small (core/row_format.h). RowsView only looks; Rows owns and has a
// fixed capacity, so that appending never moves a row others look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mplus/memory/layout.h"
#include "mplus/memory/resident.h"

namespace mplus::memory {

struct RowsView {
  const std::byte* k = nullptr;         // [n, kv], or [n] small vectors
  const std::byte* v = nullptr;         // likewise
  const std::byte* key = nullptr;       // [n, d_r], or [n] small keys; null without a retriever
  const std::int64_t* birth = nullptr;  // [n]
  const float* hidden = nullptr;        // [n, d], or null where hidden states are not kept
  std::int64_t n = 0;

  RowFormat format = RowFormat::plain;

  const void* k_row(const Layout& layout, std::int64_t row) const {
    return k + static_cast<std::size_t>(row) * layout.kv_bytes(format);
  }
  const void* v_row(const Layout& layout, std::int64_t row) const {
    return v + static_cast<std::size_t>(row) * layout.kv_bytes(format);
  }
  const std::byte* key_row(const Layout& layout, std::int64_t row) const {
    return key + static_cast<std::size_t>(row) * layout.key_bytes(format);
  }
  // Their values, [kv], [kv] and [d_r].
  void expand_k(const Layout& layout, float* out, std::int64_t row) const;
  void expand_v(const Layout& layout, float* out, std::int64_t row) const;
  void expand_key(const Layout& layout, float* out, std::int64_t row) const;
};

// What a write pass made for one layer: n rows to be stored, in host memory.
struct NewRows {
  const float* hidden = nullptr;  // [n, d]
  const void* k = nullptr;        // [n, kv]
  const void* v = nullptr;        // [n, kv]
  const void* key = nullptr;      // [n, d_r], or null
  std::int64_t n = 0;
  DType dtype = DType::f32;                        // of k, v and key; else the memory's own
  std::shared_ptr<const void> hidden_memory = {};  // keeps `hidden` as it is; null: it must be copied
  // The hidden states once more, where the pass made them, with what keeps them there; none on the processor.
  ConstTensor hidden_on_device = {};
  std::shared_ptr<const void> device_memory = {};
};

class Rows {
 public:
  Rows(const Layout& layout, std::int64_t capacity,
       RowFormat format = RowFormat::plain);  // memory is not touched before it is filled
  Rows(const Layout& layout, std::int64_t capacity, const RowsView& copy_of);

  std::shared_ptr<Rows> copy(const Layout& layout) const;  // shares what is on a device

  std::int64_t size() const { return n_; }
  std::int64_t capacity() const { return capacity_; }
  RowsView view() const;

  void append(const Layout& layout, const NewRows& rows, std::int64_t first_birth);  // to plain rows
  // A plain row becomes what is kept here; a small one is only ever copied as it is.
  void append(const Layout& layout, const RowsView& from, std::int64_t row);
  void replace(const Layout& layout, std::int64_t row, const RowsView& by, std::int64_t by_row);
  void remove(const Layout& layout, const std::int64_t* sorted,
              std::int64_t count);  // the others keep their order

  // Their copy on a device: made when first asked for, then kept up to date.
  ResidentRows& resident() const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  using Column = std::unique_ptr<std::byte[], Free>;
  static Column allocate(std::size_t size_bytes);
  void copy_row(const Layout& layout, std::int64_t row, const RowsView& from, std::int64_t from_row);
  void make_small(const Layout& layout, std::int64_t row, const RowsView& from, std::int64_t from_row);

  RowFormat format_ = RowFormat::plain;
  std::int64_t n_ = 0;
  std::int64_t capacity_ = 0;
  Column k_, v_, key_, birth_, hidden_;
  mutable std::unique_ptr<ResidentRows> resident_;
};

}  // namespace mplus::memory
