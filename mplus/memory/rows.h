// Columns of memory rows of one layer: keys and values before RoPE, retriever keys, births, hidden states if
// kept. Keys and values are plain, or small (core/numbers/row_format.h). RowsView only looks; Rows owns and
// has a fixed capacity. A row has a number, by age, and a slot, where its values lie: it never moves. Rows
// that go leave their slots to later ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mplus/memory/device/resident.h"
#include "mplus/memory/layout.h"

namespace mplus::memory {

struct RowsView {
  // By slots; without `slots` these are the rows in their order.
  const std::byte* k = nullptr;         // [kv] each, or small vectors
  const std::byte* v = nullptr;         // likewise
  const std::byte* key = nullptr;       // [d_r] each, or small keys; null without a retriever
  const std::int64_t* birth = nullptr;  // [n] of the rows in their order
  const float* hidden = nullptr;        // [d] each, or null where hidden states are not kept
  std::int64_t n = 0;

  RowFormat format = RowFormat::plain;
  const std::int32_t* slots = nullptr;  // [n]; null: a row's slot is its number

  std::int64_t slot(std::int64_t row) const { return slots ? slots[row] : row; }
  const std::byte* k_row(const Layout& layout, std::int64_t row) const {
    return k + static_cast<std::size_t>(slot(row)) * layout.kv_bytes(format);
  }
  const std::byte* v_row(const Layout& layout, std::int64_t row) const {
    return v + static_cast<std::size_t>(slot(row)) * layout.kv_bytes(format);
  }
  const std::byte* key_row(const Layout& layout, std::int64_t row) const {
    return key + static_cast<std::size_t>(slot(row)) * layout.key_bytes(format);
  }
  const float* hidden_row(const Layout& layout, std::int64_t row) const {
    return hidden + slot(row) * layout.hidden;
  }
  // Their values, [kv], [kv] and [d_r].
  void expand_k(const Layout& layout, float* out, std::int64_t row) const;
  void expand_v(const Layout& layout, float* out, std::int64_t row) const;
  void expand_key(const Layout& layout, float* out, std::int64_t row) const;
};

// What a write pass made for one layer: n rows to be stored.
struct NewRows {
  const float* hidden = nullptr;  // [n, d]; null: on the device alone
  const void* k = nullptr;        // [n, kv]
  const void* v = nullptr;        // [n, kv]
  const void* key = nullptr;      // [n, d_r], or null
  std::int64_t n = 0;
  DType dtype = DType::f32;  // of k, v and key; else the memory's own
  // The same where the pass made it, if that is not the host.
  ConstTensor hidden_on_device = {};
  ConstTensor k_on_device = {}, v_on_device = {}, key_on_device = {};  // for as long as the update takes
  // What keeps the hidden states as they are, on both sides, and k, v and key on the host; null: they must be
  // copied at once.
  std::shared_ptr<const void> hidden_memory = {}, memory = {};

  void copy_hidden(float* to, std::int64_t width) const;  // [n, width]; from a device it waits
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
  // The others keep their order. The slots they had, whose values stay until others come.
  std::vector<std::int32_t> remove(const std::int64_t* sorted, std::int64_t count);

  // Appending in two parts: slots for rows behind the others, and their values, which nobody may look at
  // before they are put. Values of different slots may be put side by side.
  std::vector<std::int32_t> extend(std::span<const std::int64_t> births);
  void put(const Layout& layout, std::span<const std::int32_t> slots, const NewRows& rows);
  void put(const Layout& layout, std::int64_t slot, const RowsView& from, std::int64_t from_row);

  // Their copy on a device: made when first asked for, then kept up to date.
  ResidentRows& resident() const;

 private:
  struct Free {
    std::size_t size_bytes;
    void operator()(std::byte* p) const;
  };
  using Column = std::unique_ptr<std::byte[], Free>;
  static Column allocate(std::size_t size_bytes);
  void make_small(const Layout& layout, std::int64_t slot, const RowsView& from, std::int64_t from_row);

  RowFormat format_ = RowFormat::plain;
  std::int64_t n_ = 0;
  std::int64_t capacity_ = 0;
  std::int64_t touched_ = 0;  // slots from here on have never been used
  Column k_, v_, key_, birth_, hidden_;
  std::vector<std::int32_t> slots_;  // [n]; empty until a row is removed: row r lies in slot r
  std::vector<std::int32_t> free_;   // slots below touched_ that no row has
  mutable std::unique_ptr<ResidentRows> resident_;
};

}  // namespace mplus::memory
