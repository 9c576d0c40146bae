#include "mplus/memory/device/resident.h"

#include <algorithm>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/memory/device/spare.h"
#include "mplus/memory/rows.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kGap = 64;  // slots that are uploaded once more rather than begin another copy

}  // namespace

void ResidentRows::change(std::span<const std::int32_t> slots) {
  for (const std::int32_t slot : slots) there_[static_cast<std::size_t>(slot)] = 0;
  changed_ = true;
}

bool ResidentRows::own(kernels::Queue& queue, const Layout& layout) {
  const bool here = memory_ && memory_->device() == queue.device();
  if (here && memory_.use_count() == 1) return true;
  const auto slots = std::ssize(there_);
  const std::int64_t kv = slots * layout.kv, all = 2 * kv + slots * layout.retriever;
  std::shared_ptr<Buffer> fresh = spare_buffer(queue, row_bytes(layout.dtype, all));
  const Tensor values = fresh ? fresh->tensor(layout.dtype, {all}) : Tensor();
  if (fresh && here) kernels::copy(queue, values, memory_->tensor(layout.dtype, {all}));
  if (!fresh || !here) std::fill(there_.begin(), there_.end(), 0);
  changed_ = changed_ || !fresh || !here;
  memory_ = std::move(fresh);
  if (!memory_) return false;
  columns_[0] = values.rows(0, kv).as_shape({slots, layout.kv});
  columns_[1] = values.rows(kv, kv).as_shape({slots, layout.kv});
  columns_[2] = {};
  if (layout.retriever > 0)
    columns_[2] = values.rows(2 * kv, slots * layout.retriever).as_shape({slots, layout.retriever});
  return true;
}

std::size_t ResidentRows::room(const kernels::Queue& queue, const Layout& layout) const {
  if (memory_ && memory_->device() == queue.device()) return 0;
  return row_bytes(layout.dtype, std::ssize(there_) * (2 * layout.kv + layout.retriever));
}

bool ResidentRows::bring(kernels::Queue& queue, const Layout& layout, const RowsView& rows) {
  MPLUS_CHECK(rows.n <= std::ssize(there_) && rows.format == RowFormat::plain, "{} {} rows, {} slots", rows.n,
              row_format_name(rows.format), there_.size());
  const bool here = memory_ && memory_->device() == queue.device();
  if (here && !changed_) return true;
  if (rows.n == 0 && !here) return own(queue, layout);
  std::vector<std::int64_t> missing;
  for (std::int64_t r = 0; r < rows.n; ++r)
    if (!here || !there_[static_cast<std::size_t>(rows.slot(r))]) missing.push_back(rows.slot(r));
  if (!missing.empty() && !own(queue, layout)) return false;
  std::sort(missing.begin(), missing.end());
  const std::byte* columns[] = {rows.k, rows.v, rows.key};
  for (std::size_t first = 0, end = 0; first < missing.size(); first = end) {
    for (end = first + 1; end < missing.size() && missing[end] - missing[end - 1] <= kGap;) ++end;
    const std::int64_t slot = missing[first], count = missing[end - 1] + 1 - slot;
    for (std::size_t c = 0; c < std::size(columns); ++c) {
      if (columns_[c].empty()) continue;
      const std::int64_t width = columns_[c].size(1);
      const std::byte* from = columns[c] + row_bytes(layout.dtype, slot * width);
      kernels::copy(queue, columns_[c].rows(slot, count), ConstTensor(from, layout.dtype, {count, width}));
    }
  }
  for (const std::int64_t slot : missing) there_[static_cast<std::size_t>(slot)] = 1;
  changed_ = false;
  return true;
}

void ResidentRows::put(kernels::Queue& queue, const Layout& layout, std::span<const std::int32_t> slots,
                       const NewRows& rows, std::vector<kernels::RowScatter>& copies) {
  const ConstTensor from[] = {rows.k_on_device, rows.v_on_device, rows.key_on_device};
  if (rows.dtype != layout.dtype || from[0].empty() || from[0].device != queue.device()) return;
  if (!own(queue, layout)) return;
  for (std::size_t c = 0; c < std::size(from); ++c)
    if (!columns_[c].empty()) copies.push_back({columns_[c], from[c], slots});
  for (const std::int32_t slot : slots) there_[static_cast<std::size_t>(slot)] = 1;
}

std::size_t ResidentKeys::room(const kernels::Queue& queue, const ConstTensor& keys,
                               std::int64_t capacity) const {
  const std::int64_t n = std::max(keys.size(0), capacity);
  if (memory_ && memory_->device() == queue.device() && keys.size(0) <= capacity_) return 0;
  return row_bytes(DType::i64, n) + row_bytes(keys.dtype, n * keys.size(1));
}

ResidentKeys::There ResidentKeys::bring(kernels::Queue& queue, const ConstTensor& keys,
                                        const std::int64_t* births, std::int64_t capacity) {
  const std::int64_t n = keys.size(0), width = keys.size(1);
  const auto births_bytes = [&] { return row_bytes(DType::i64, capacity_); };
  if (!memory_ || memory_->device() != queue.device() || n > capacity_) {
    there_ = 0;
    capacity_ = (std::max<std::int64_t>({capacity, n, 1}) + 31) / 32 * 32;  // keys begin at whole 256 bytes
    memory_.reset();
    memory_ = spare_buffer(queue, births_bytes() + row_bytes(keys.dtype, capacity_ * width));
    if (!memory_) return {};
  }
  const std::int64_t all = std::max(n, there_);
  const Tensor born = memory_->tensor(DType::i64, {all});
  const Tensor there(static_cast<std::byte*>(born.data) + births_bytes(), keys.dtype, {all, width},
                     queue.device());
  if (n > there_) {
    const ConstTensor fresh(births + there_, DType::i64, {n - there_});
    kernels::copy(queue, born.rows(there_, n - there_), fresh);
    kernels::copy(queue, there.rows(there_, n - there_), keys.rows(there_, n - there_));
  }
  there_ = all;
  return {there.rows(0, n), born.rows(0, n)};
}

kernels::RowBlock ResidentColumns::all(const kernels::RowBlock& like, std::int64_t rows) const {
  const Tensor both = memory_->tensor(like.k.dtype, {2, capacity_, like.k.size(1)});
  return {both.row(0).rows(0, rows), both.row(1).rows(0, rows), like.format};
}

ResidentColumns::Missing ResidentColumns::missing(const kernels::Queue& queue, const kernels::RowBlock& rows,
                                                  std::int64_t capacity) const {
  const std::int64_t n = rows.k.size(0);
  const auto bytes = [&](std::int64_t count) { return 2 * row_bytes(rows.k.dtype, count * rows.k.size(1)); };
  if (!memory_ || memory_->device() != queue.device() || n > capacity_)
    return {bytes(std::max(capacity, n)), bytes(n)};
  return {0, n > there_ ? bytes(n - there_) : 0};
}

bool ResidentColumns::bring(kernels::Queue& queue, const kernels::RowBlock& rows, std::int64_t capacity) {
  const std::int64_t n = rows.k.size(0);
  if (const Missing wanted = missing(queue, rows, capacity); wanted.room > 0) {
    there_ = 0;
    capacity_ = std::max(capacity, n);
    memory_.reset();
    memory_ = spare_buffer(queue, wanted.room);
    if (!memory_) return false;
  }
  if (n <= there_) return true;
  const Tensor both = memory_->tensor(rows.k.dtype, {2, capacity_, rows.k.size(1)});
  kernels::copy(queue, both.row(0).rows(there_, n - there_), rows.k.rows(there_, n - there_));
  kernels::copy(queue, both.row(1).rows(there_, n - there_), rows.v.rows(there_, n - there_));
  there_ = n;
  return true;
}

kernels::RowBlock ResidentColumns::near(const kernels::Queue& queue, const kernels::RowBlock& rows) const {
  const bool here = memory_ && memory_->device() == queue.device() && rows.k.size(0) <= there_;
  return here ? all(rows, rows.k.size(0)) : rows;
}

}  // namespace mplus::memory
