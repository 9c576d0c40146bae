#include "mplus/memory/window.h"

#include "mplus/core/error.h"

namespace mplus::memory {

WindowRows::WindowRows(const Layout& layout)
    : dtype_(layout.dtype),
      kv_(layout.kv),
      row_bytes_(layout.kv_bytes()),
      columns_(static_cast<std::size_t>(layout.layers)) {}

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
  MPLUS_CHECK(0 <= rows && rows <= n_, "truncate {} to {}", n_, rows);
  for (Columns& c : columns_) {
    c.k.resize(static_cast<std::size_t>(rows) * row_bytes_);
    c.v.resize(static_cast<std::size_t>(rows) * row_bytes_);
  }
  n_ = rows;
}

void WindowRows::load(std::int64_t layer, std::span<const std::byte> k, std::span<const std::byte> v) {
  MPLUS_CHECK(k.size() == v.size() && k.size() % row_bytes_ == 0, "{} and {} bytes of rows of {}", k.size(),
              v.size(), row_bytes_);
  columns_[static_cast<std::size_t>(layer)] = {{k.begin(), k.end()}, {v.begin(), v.end()}};
}

}  // namespace mplus::memory
