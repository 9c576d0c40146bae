#include "mplus/memory/rows.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/core/tensors/pages.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/convert.h"

namespace mplus::memory {
namespace {

void expand(float* out, const Layout& layout, RowFormat format, const void* vector) {
  if (format == RowFormat::plain) return kernels::to_f32(out, vector, layout.dtype, layout.kv);
  expand_small_vector(out, format, static_cast<const std::byte*>(vector), layout.kv);
}

}  // namespace

void RowsView::expand_k(const Layout& layout, float* out, std::int64_t row) const {
  expand(out, layout, format, k_row(layout, row));
}

void RowsView::expand_v(const Layout& layout, float* out, std::int64_t row) const {
  expand(out, layout, format, v_row(layout, row));
}

void RowsView::expand_key(const Layout& layout, float* out, std::int64_t row) const {
  if (format == RowFormat::plain)
    return kernels::to_f32(out, key_row(layout, row), layout.dtype, layout.retriever);
  expand_small_key(out, key_row(layout, row), layout.retriever);
}

void NewRows::copy_hidden(float* to, std::int64_t width) const {
  if (hidden) std::copy_n(hidden, n * width, to);
  else kernels::backend_of(hidden_on_device.device).bring(to, hidden_on_device);
}

void Rows::Free::operator()(std::byte* p) const {
  ::operator delete[](p, std::align_val_t{kAlignment});
  host_budget().give_back(size_bytes);
}

// Large columns ask for large pages: rows come in all layers at once, and every page costs a fault.
Rows::Column Rows::allocate(std::size_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  constexpr std::size_t kLarge = std::size_t{16} << 20;
  Column column(static_cast<std::byte*>(::operator new[](size_bytes, std::align_val_t{kAlignment})),
                Free{size_bytes});
  host_budget().take(size_bytes);
  if (size_bytes >= kLarge) ask_for_large_pages(column.get(), size_bytes);
  return column;
}

Rows::Rows(const Layout& layout, std::int64_t capacity, RowFormat format)
    : format_(format), capacity_(capacity) {
  const auto rows = static_cast<std::size_t>(capacity);
  k_ = allocate(rows * layout.kv_bytes(format));
  v_ = allocate(rows * layout.kv_bytes(format));
  key_ = allocate(rows * layout.key_bytes(format));
  birth_ = allocate(rows * sizeof(std::int64_t));
  hidden_ = allocate(rows * layout.hidden_bytes());
}

Rows::Rows(const Layout& layout, std::int64_t capacity, const RowsView& copy_of)
    : Rows(layout, capacity, copy_of.format) {
  extend({copy_of.birth, static_cast<std::size_t>(copy_of.n)});
  if (copy_of.slots) {
    for (std::int64_t r = 0; r < n_; ++r) put(layout, r, copy_of, r);
    return;
  }
  const auto copy = [&](Column& to, const void* from, std::size_t bytes) {
    if (!to || n_ == 0) return;
    const std::size_t size_bytes = static_cast<std::size_t>(n_) * bytes;
    make_pages(to.get(), size_bytes);
    std::memcpy(to.get(), from, size_bytes);
  };
  copy(k_, copy_of.k, layout.kv_bytes(format_));
  copy(v_, copy_of.v, layout.kv_bytes(format_));
  copy(key_, copy_of.key, layout.key_bytes(format_));
  copy(hidden_, copy_of.hidden, layout.hidden_bytes());
}

RowsView Rows::view() const {
  return {.k = k_.get(),
          .v = v_.get(),
          .key = key_.get(),
          .birth = reinterpret_cast<const std::int64_t*>(birth_.get()),
          .hidden = reinterpret_cast<const float*>(hidden_.get()),
          .n = n_,
          .format = format_,
          .slots = slots_.empty() ? nullptr : slots_.data()};
}

std::vector<std::int32_t> Rows::extend(std::span<const std::int64_t> births) {
  const auto n = std::ssize(births);
  MPLUS_CHECK(n_ + n <= capacity_, "rows {} + {} > {}", n_, n, capacity_);
  std::copy(births.begin(), births.end(), reinterpret_cast<std::int64_t*>(birth_.get()) + n_);
  std::vector<std::int32_t> taken(births.size());
  for (std::int32_t& slot : taken) {
    if (free_.empty()) {
      slot = static_cast<std::int32_t>(touched_++);
    } else {
      slot = free_.back();
      free_.pop_back();
    }
  }
  if (!slots_.empty()) slots_.insert(slots_.end(), taken.begin(), taken.end());
  n_ += n;
  if (resident_) resident_->change(taken);
  return taken;
}

void Rows::put(const Layout& layout, std::span<const std::int32_t> slots, const NewRows& rows) {
  MPLUS_CHECK(std::ssize(slots) == rows.n && format_ == RowFormat::plain, "{} {} slots for {} rows",
              slots.size(), row_format_name(format_), rows.n);
  MPLUS_CHECK(rows.dtype == layout.dtype || rows.dtype == DType::f32, "{} rows", dtype_name(rows.dtype));
  const auto put = [&](Column& column, const void* values, std::int64_t width) {
    const std::size_t bytes = row_bytes(layout.dtype, width), from_bytes = row_bytes(rows.dtype, width);
    const auto* from = static_cast<const std::byte*>(values);
    for (const std::int32_t slot : slots) {
      std::byte* to = column.get() + static_cast<std::size_t>(slot) * bytes;
      if (rows.dtype == layout.dtype) std::memcpy(to, from, bytes);
      else kernels::from_f32(to, layout.dtype, reinterpret_cast<const float*>(from), width);
      from += from_bytes;
    }
  };
  put(k_, rows.k, layout.kv);
  put(v_, rows.v, layout.kv);
  if (key_) put(key_, rows.key, layout.retriever);
  if (!hidden_) return;
  for (std::size_t i = 0; i < slots.size(); ++i)
    std::memcpy(hidden_.get() + static_cast<std::size_t>(slots[i]) * layout.hidden_bytes(),
                rows.hidden + static_cast<std::int64_t>(i) * layout.hidden, layout.hidden_bytes());
}

void Rows::put(const Layout& layout, std::int64_t slot, const RowsView& from, std::int64_t from_row) {
  const auto copy = [&](Column& to, const void* source, std::size_t bytes) {
    std::memcpy(to.get() + static_cast<std::size_t>(slot) * bytes, source, bytes);
  };
  if (from.format == format_) {
    copy(k_, from.k_row(layout, from_row), layout.kv_bytes(format_));
    copy(v_, from.v_row(layout, from_row), layout.kv_bytes(format_));
    if (key_) copy(key_, from.key_row(layout, from_row), layout.key_bytes(format_));
  } else {
    make_small(layout, slot, from, from_row);
  }
  if (hidden_) copy(hidden_, from.hidden_row(layout, from_row), layout.hidden_bytes());
}

// Nothing is rounded twice: what is small already stays what it is.
void Rows::make_small(const Layout& layout, std::int64_t slot, const RowsView& from, std::int64_t from_row) {
  MPLUS_CHECK(from.format == RowFormat::plain, "{} rows become {} ones", row_format_name(from.format),
              row_format_name(format_));
  thread_local std::vector<float> values;
  values.resize(static_cast<std::size_t>(std::max(layout.kv, layout.retriever)));
  const auto at = static_cast<std::size_t>(slot);
  from.expand_k(layout, values.data(), from_row);
  make_small_vector(k_.get() + at * layout.kv_bytes(format_), format_, values.data(), layout.kv);
  from.expand_v(layout, values.data(), from_row);
  make_small_vector(v_.get() + at * layout.kv_bytes(format_), format_, values.data(), layout.kv);
  if (!key_) return;
  from.expand_key(layout, values.data(), from_row);
  make_small_key(key_.get() + at * layout.key_bytes(format_), values.data(), layout.retriever);
}

void Rows::append(const Layout& layout, const NewRows& rows, std::int64_t first_birth) {
  std::vector<std::int64_t> births(static_cast<std::size_t>(rows.n));
  std::iota(births.begin(), births.end(), first_birth);
  put(layout, extend(births), rows);
}

void Rows::append(const Layout& layout, const RowsView& from, std::int64_t row) {
  MPLUS_CHECK(row < from.n, "row {} of {}", row, from.n);
  put(layout, extend({from.birth + row, 1}).front(), from, row);
}

void Rows::replace(const Layout& layout, std::int64_t row, const RowsView& by, std::int64_t by_row) {
  MPLUS_CHECK(row < n_ && by_row < by.n, "row {} of {} by row {} of {}", row, n_, by_row, by.n);
  const auto slot = static_cast<std::int32_t>(view().slot(row));
  reinterpret_cast<std::int64_t*>(birth_.get())[row] = by.birth[by_row];
  put(layout, slot, by, by_row);
  if (resident_) resident_->change({&slot, 1});
}

std::vector<std::int32_t> Rows::remove(const std::int64_t* sorted, std::int64_t count) {
  std::vector<std::int32_t> left(static_cast<std::size_t>(count));
  if (count == 0) return left;
  if (slots_.empty()) {
    slots_.reserve(static_cast<std::size_t>(capacity_));
    slots_.resize(static_cast<std::size_t>(n_));
    std::iota(slots_.begin(), slots_.end(), 0);
  }
  auto* births = reinterpret_cast<std::int64_t*>(birth_.get());
  std::int64_t to = sorted[0];
  for (std::int64_t i = 0; i < count; ++i) {  // move the run between one removed row and the next
    left[static_cast<std::size_t>(i)] = slots_[static_cast<std::size_t>(sorted[i])];
    const std::int64_t from = sorted[i] + 1, end = i + 1 < count ? sorted[i + 1] : n_;
    std::copy(births + from, births + end, births + to);
    std::copy(slots_.begin() + from, slots_.begin() + end, slots_.begin() + to);
    to += end - from;
  }
  n_ = to;
  slots_.resize(static_cast<std::size_t>(n_));
  free_.insert(free_.end(), left.begin(), left.end());
  if (n_ == 0) {  // slots are given out from the first again
    free_.clear();
    touched_ = 0;
  }
  return left;
}

// Row for row in the same slots, so that the copy on a device is the other's, too.
std::shared_ptr<Rows> Rows::copy(const Layout& layout) const {
  auto other = std::make_shared<Rows>(layout, capacity_, format_);
  const auto same = [](Column& to, const Column& from, std::int64_t rows, std::size_t bytes) {
    if (from && rows > 0) std::memcpy(to.get(), from.get(), static_cast<std::size_t>(rows) * bytes);
  };
  same(other->k_, k_, touched_, layout.kv_bytes(format_));
  same(other->v_, v_, touched_, layout.kv_bytes(format_));
  same(other->key_, key_, touched_, layout.key_bytes(format_));
  same(other->hidden_, hidden_, touched_, layout.hidden_bytes());
  same(other->birth_, birth_, n_, sizeof(std::int64_t));
  other->n_ = n_;
  other->touched_ = touched_;
  other->slots_ = slots_;
  other->free_ = free_;
  if (resident_) other->resident_ = std::make_unique<ResidentRows>(*resident_);
  return other;
}

ResidentRows& Rows::resident() const {
  if (!resident_) resident_ = std::make_unique<ResidentRows>(capacity_);
  return *resident_;
}

}  // namespace mplus::memory
