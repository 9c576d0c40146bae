#include "mplus/memory/window.h"

#include <algorithm>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/memory/device/spare.h"

namespace mplus::memory {

WindowRows::WindowRows(const Layout& layout)
    : dtype_(layout.dtype),
      kv_(layout.kv),
      row_bytes_(layout.kv_bytes()),
      columns_(static_cast<std::size_t>(layout.layers)) {}

WindowRows::WindowRows(const WindowRows& other)
    : dtype_(other.dtype_),
      kv_(other.kv_),
      row_bytes_(other.row_bytes_),
      n_(other.n_),
      columns_(other.columns_) {
  other.settle();
  mirror_ = other.mirror_;
  common_ = other.common_;
}

WindowRows::WindowRows(const WindowRows& other, std::int64_t rows)
    : dtype_(other.dtype_),
      kv_(other.kv_),
      row_bytes_(other.row_bytes_),
      n_(rows),
      columns_(other.columns_.size()) {
  MPLUS_CHECK(0 <= rows && rows <= other.n_, "{} of {} rows", rows, other.n_);
  const auto size = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rows) * row_bytes_);
  for (std::size_t l = 0; l < columns_.size(); ++l) {
    const Columns& from = other.columns_[l];
    columns_[l] = {{from.k.begin(), from.k.begin() + size}, {from.v.begin(), from.v.begin() + size}};
  }
}

void WindowRows::settle() const {
  if (!mirror_) mirror_ = std::make_shared<Mirror>();  // it was moved from
  if (mirror_.use_count() != 1) return;
  mirror_->filled = std::min(mirror_->filled, common_);
  common_ = n_;
}

bool WindowRows::bring(kernels::Queue& queue) const {
  settle();
  if (n_ > common_) {  // others may hold other rows there
    mirror_ = std::make_shared<Mirror>();
    common_ = n_;
  }
  Mirror& mirror = *mirror_;
  const auto layers = std::ssize(columns_);
  const bool elsewhere = mirror.capacity > 0 && mirror.memory->device() != queue.device();
  if (mirror.capacity < n_ || elsewhere) {
    constexpr std::int64_t kMore = 512;  // rows that may come without a new mirror
    mirror = {};
    mirror.memory = spare_buffer(queue, row_bytes(dtype_, layers * 2 * (n_ + kMore) * kv_));
    if (!mirror.memory) return false;
    mirror.capacity = n_ + kMore;
  }
  if (mirror.filled >= n_) return true;
  const Tensor all = mirror.memory->tensor(dtype_, {layers * 2, mirror.capacity, kv_});
  const std::int64_t first = mirror.filled, fresh = n_ - first;
  for (std::int64_t l = 0; l < layers; ++l) {
    const kernels::RowBlock here = block(l);
    kernels::copy(queue, all.row(2 * l).rows(first, fresh), here.k.rows(first, fresh));
    kernels::copy(queue, all.row(2 * l + 1).rows(first, fresh), here.v.rows(first, fresh));
  }
  mirror.filled = n_;
  return true;
}

kernels::RowBlock WindowRows::block(std::int64_t layer) const {
  return {{k(layer), dtype_, {n_, kv_}}, {v(layer), dtype_, {n_, kv_}}};
}

kernels::RowBlock WindowRows::near(kernels::Queue& queue, std::int64_t layer) const {
  if (queue.device().is_cpu() || n_ == 0 || !bring(queue)) return block(layer);
  const Tensor all = mirror_->memory->tensor(dtype_, {std::ssize(columns_) * 2, mirror_->capacity, kv_});
  return {all.row(2 * layer).rows(0, n_), all.row(2 * layer + 1).rows(0, n_)};
}

void WindowRows::reserve(std::int64_t rows) {
  for (Columns& c : columns_) {
    c.k.reserve(static_cast<std::size_t>(rows) * row_bytes_);
    c.v.reserve(static_cast<std::size_t>(rows) * row_bytes_);
  }
}

void WindowRows::append(std::int64_t layer, ConstTensor k, ConstTensor v) {
  Columns& c = columns_[static_cast<std::size_t>(layer)];
  const auto add = [&](std::vector<std::byte>& column, const ConstTensor& rows) {
    MPLUS_CHECK(rows.device.is_cpu() && rows.dtype == dtype_ && rows.contiguous() && rows.size(1) == kv_,
                "rows of {} on {}, {} wide", dtype_name(rows.dtype), device_name(rows.device), rows.size(1));
    const auto* from = static_cast<const std::byte*>(rows.data);
    column.resize(static_cast<std::size_t>(n_) * row_bytes_);
    column.insert(column.end(), from, from + static_cast<std::size_t>(rows.size(0)) * row_bytes_);
  };
  add(c.k, k);
  add(c.v, v);
}

void WindowRows::erase(std::int64_t first, std::int64_t count) {
  forget(first);
  MPLUS_CHECK(0 <= first && 0 <= count && first + count <= n_, "erase {}+{} of {}", first, count, n_);
  const auto begin = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first) * row_bytes_);
  const auto end = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(first + count) * row_bytes_);
  for (Columns& c : columns_) {
    c.k.erase(c.k.begin() + begin, c.k.begin() + end);
    c.v.erase(c.v.begin() + begin, c.v.begin() + end);
  }
  n_ -= count;
}

void WindowRows::truncate(std::int64_t rows) {
  forget(rows);
  MPLUS_CHECK(0 <= rows && rows <= n_, "truncate {} to {}", n_, rows);
  for (Columns& c : columns_) {
    c.k.resize(static_cast<std::size_t>(rows) * row_bytes_);
    c.v.resize(static_cast<std::size_t>(rows) * row_bytes_);
  }
  n_ = rows;
}

void WindowRows::keep(std::span<const std::vector<std::int64_t>> rows) {
  forget(0);
  MPLUS_CHECK(std::ssize(rows) == std::ssize(columns_), "rows of {} layers", rows.size());
  for (std::size_t l = 0; l < rows.size(); ++l) {
    MPLUS_CHECK(rows[l].size() == rows[0].size(), "{} and {} rows", rows[l].size(), rows[0].size());
    std::size_t to = 0;
    for (const std::int64_t row : rows[l]) {
      MPLUS_CHECK(static_cast<std::int64_t>(to) <= row && row < n_, "row {} of {}", row, n_);
      for (std::vector<std::byte>* column : {&columns_[l].k, &columns_[l].v})
        std::memmove(column->data() + to * row_bytes_,
                     column->data() + static_cast<std::size_t>(row) * row_bytes_, row_bytes_);
      ++to;
    }
  }
  truncate(rows.empty() ? 0 : std::ssize(rows[0]));
}

void WindowRows::load(std::int64_t layer, std::span<const std::byte> k, std::span<const std::byte> v) {
  MPLUS_CHECK(k.size() == v.size() && k.size() % row_bytes_ == 0, "{} and {} bytes of rows of {}", k.size(),
              v.size(), row_bytes_);
  forget(0);
  columns_[static_cast<std::size_t>(layer)] = {{k.begin(), k.end()}, {v.begin(), v.end()}};
}

}  // namespace mplus::memory
