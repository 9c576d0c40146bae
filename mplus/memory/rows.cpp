#include "mplus/memory/rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "mplus/core/buffer.h"
#include "mplus/core/error.h"
#include "mplus/kernels/convert.h"

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

void Rows::Free::operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }

Rows::Column Rows::allocate(std::size_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  return Column(static_cast<std::byte*>(::operator new[](size_bytes, std::align_val_t{kAlignment})));
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
  MPLUS_CHECK(copy_of.n <= capacity, "rows {} capacity {}", copy_of.n, capacity);
  const auto copy = [&](Column& to, const void* from, std::size_t bytes) {
    if (to && copy_of.n > 0) std::memcpy(to.get(), from, static_cast<std::size_t>(copy_of.n) * bytes);
  };
  copy(k_, copy_of.k, layout.kv_bytes(format_));
  copy(v_, copy_of.v, layout.kv_bytes(format_));
  copy(key_, copy_of.key, layout.key_bytes(format_));
  copy(birth_, copy_of.birth, sizeof(std::int64_t));
  copy(hidden_, copy_of.hidden, layout.hidden_bytes());
  n_ = copy_of.n;
}

RowsView Rows::view() const {
  return {.k = k_.get(),
          .v = v_.get(),
          .key = key_.get(),
          .birth = reinterpret_cast<const std::int64_t*>(birth_.get()),
          .hidden = reinterpret_cast<const float*>(hidden_.get()),
          .n = n_,
          .format = format_};
}

void Rows::append(const Layout& layout, const NewRows& rows, std::int64_t first_birth) {
  MPLUS_CHECK(n_ + rows.n <= capacity_, "rows {} + {} > {}", n_, rows.n, capacity_);
  MPLUS_CHECK(format_ == RowFormat::plain, "new rows among {} ones", row_format_name(format_));
  if (rows.n == 0) return;
  const auto at = static_cast<std::size_t>(n_);
  const auto put = [&](Column& column, const void* values, std::int64_t width) {
    std::byte* to = column.get() + at * row_bytes(layout.dtype, width);
    if (rows.dtype == layout.dtype) {
      std::memcpy(to, values, row_bytes(layout.dtype, rows.n * width));
    } else {
      MPLUS_CHECK(rows.dtype == DType::f32, "{} rows", dtype_name(rows.dtype));
      kernels::from_f32(to, layout.dtype, static_cast<const float*>(values), rows.n * width);
    }
  };
  put(k_, rows.k, layout.kv);
  put(v_, rows.v, layout.kv);
  if (key_) put(key_, rows.key, layout.retriever);
  if (hidden_)
    std::memcpy(hidden_.get() + at * layout.hidden_bytes(), rows.hidden,
                static_cast<std::size_t>(rows.n) * layout.hidden_bytes());
  auto* births = reinterpret_cast<std::int64_t*>(birth_.get());
  for (std::int64_t i = 0; i < rows.n; ++i) births[n_ + i] = first_birth + i;
  n_ += rows.n;
  if (resident_) resident_->append(rows.n);
}

void Rows::copy_row(const Layout& layout, std::int64_t row, const RowsView& from, std::int64_t from_row) {
  const auto copy = [&](Column& to, const void* source, std::size_t bytes) {
    if (to)
      std::memcpy(to.get() + static_cast<std::size_t>(row) * bytes,
                  static_cast<const std::byte*>(source) + static_cast<std::size_t>(from_row) * bytes, bytes);
  };
  if (from.format == format_) {
    copy(k_, from.k, layout.kv_bytes(format_));
    copy(v_, from.v, layout.kv_bytes(format_));
    copy(key_, from.key, layout.key_bytes(format_));
  } else {
    make_small(layout, row, from, from_row);
  }
  copy(birth_, from.birth, sizeof(std::int64_t));
  copy(hidden_, from.hidden, layout.hidden_bytes());
}

// Nothing is rounded twice: what is small already stays what it is.
void Rows::make_small(const Layout& layout, std::int64_t row, const RowsView& from, std::int64_t from_row) {
  MPLUS_CHECK(from.format == RowFormat::plain, "{} rows become {} ones", row_format_name(from.format),
              row_format_name(format_));
  std::vector<float> values(static_cast<std::size_t>(std::max(layout.kv, layout.retriever)));
  const auto at = static_cast<std::size_t>(row);
  from.expand_k(layout, values.data(), from_row);
  make_small_vector(k_.get() + at * layout.kv_bytes(format_), format_, values.data(), layout.kv);
  from.expand_v(layout, values.data(), from_row);
  make_small_vector(v_.get() + at * layout.kv_bytes(format_), format_, values.data(), layout.kv);
  if (!key_) return;
  from.expand_key(layout, values.data(), from_row);
  make_small_key(key_.get() + at * layout.key_bytes(format_), values.data(), layout.retriever);
}

void Rows::append(const Layout& layout, const RowsView& from, std::int64_t row) {
  MPLUS_CHECK(n_ < capacity_ && row < from.n, "row {} of {}, {} of {} used", row, from.n, n_, capacity_);
  copy_row(layout, n_++, from, row);
  if (resident_) resident_->append(1);
}

void Rows::replace(const Layout& layout, std::int64_t row, const RowsView& by, std::int64_t by_row) {
  MPLUS_CHECK(row < n_ && by_row < by.n, "row {} of {} by row {} of {}", row, n_, by_row, by.n);
  copy_row(layout, row, by, by_row);
  if (resident_) resident_->replace(row);
}

void Rows::remove(const Layout& layout, const std::int64_t* sorted, std::int64_t count) {
  if (count == 0) return;
  const std::array<std::pair<Column*, std::size_t>, 5> columns{{{&k_, layout.kv_bytes(format_)},
                                                                {&v_, layout.kv_bytes(format_)},
                                                                {&key_, layout.key_bytes(format_)},
                                                                {&birth_, sizeof(std::int64_t)},
                                                                {&hidden_, layout.hidden_bytes()}}};
  for (const auto& [column, bytes] : columns) {
    if (!*column) continue;
    std::byte* data = column->get();
    std::int64_t to = sorted[0];
    for (std::int64_t i = 0; i < count; ++i) {  // move the run between one removed row and the next
      const std::int64_t from = sorted[i] + 1;
      const std::int64_t end = i + 1 < count ? sorted[i + 1] : n_;
      std::memmove(data + static_cast<std::size_t>(to) * bytes, data + static_cast<std::size_t>(from) * bytes,
                   static_cast<std::size_t>(end - from) * bytes);
      to += end - from;
    }
  }
  n_ -= count;
  if (resident_) resident_->remove(sorted, count);
}

std::shared_ptr<Rows> Rows::copy(const Layout& layout) const {
  auto other = std::make_shared<Rows>(layout, capacity_, view());
  if (resident_) other->resident_ = std::make_unique<ResidentRows>(*resident_);
  return other;
}

ResidentRows& Rows::resident() const {
  if (!resident_) resident_ = std::make_unique<ResidentRows>(n_);
  return *resident_;
}

}  // namespace mplus::memory
