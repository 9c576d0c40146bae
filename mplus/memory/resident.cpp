#include "mplus/memory/resident.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows.h"
#include "mplus/memory/rows.h"

namespace mplus::memory {

void ResidentRows::append(std::int64_t rows) {
  places_.resize(places_.size() + static_cast<std::size_t>(rows));
}

void ResidentRows::replace(std::int64_t row) { leave(places_[static_cast<std::size_t>(row)]); }

void ResidentRows::remove(const std::int64_t* sorted, std::int64_t count) {
  std::size_t next = 0;
  for (std::size_t row = 0; row < places_.size(); ++row) {
    if (count > 0 && *sorted == static_cast<std::int64_t>(row)) {
      leave(places_[row]);
      ++sorted;
      --count;
    } else {
      places_[next++] = places_[row];
    }
  }
  places_.resize(next);
}

void ResidentRows::leave(std::optional<kernels::RowPlace>& place) {
  if (place) --living_[place->block];
  place.reset();
}

void ResidentRows::give_back_blocks() {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (!blocks_[b] || 2 * living_[b] > blocks_[b]->rows) continue;
    for (auto& place : places_)
      if (place && place->block == b) leave(place);
    blocks_[b].reset();
    views_[b] = {};
  }
}

bool ResidentRows::bring(kernels::Queue& queue, const Layout& layout, const RowsView& rows) {
  MPLUS_CHECK(rows.n == std::ssize(places_) && rows.format == RowFormat::plain, "{} {} rows, {} followed",
              rows.n, row_format_name(rows.format), places_.size());
  if (device_ != queue.device()) {
    *this = ResidentRows(rows.n);
    device_ = queue.device();
  }
  std::vector<std::int64_t> missing;
  const auto find_missing = [&] {
    for (std::int64_t r = 0; r < rows.n; ++r)
      if (!places_[static_cast<std::size_t>(r)]) missing.push_back(r);
  };
  find_missing();
  if (missing.empty()) return true;
  give_back_blocks();
  missing.clear();
  find_missing();
  return upload(queue, layout, rows, missing);
}

bool ResidentRows::upload(kernels::Queue& queue, const Layout& layout, const RowsView& rows,
                          std::span<const std::int64_t> missing) {
  const std::size_t row = layout.kv_bytes(), half = missing.size() * row;
  const auto n = std::ssize(missing);
  auto block = std::make_shared<Block>();
  try {
    *block = {queue.backend().allocate(2 * half), n};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_capacity) throw;
    return false;
  }
  std::byte* staged = queue.shared_scratch(2 * half);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    std::memcpy(staged + i * row, rows.k_row(layout, missing[i]), row);
    std::memcpy(staged + half + i * row, rows.v_row(layout, missing[i]), row);
  }
  const Tensor there = block->memory.tensor(layout.dtype, {2 * n, layout.kv});
  kernels::copy(queue, there, ConstTensor(staged, layout.dtype, {2 * n, layout.kv}));
  auto free = std::find(blocks_.begin(), blocks_.end(), nullptr);
  const auto number = static_cast<std::size_t>(free - blocks_.begin());
  if (free == blocks_.end()) {
    blocks_.emplace_back();
    living_.emplace_back();
    views_.emplace_back();
  }
  blocks_[number] = std::move(block);
  living_[number] = n;
  views_[number] = {there.rows(0, n), there.rows(n, n)};
  for (std::int64_t i = 0; i < n; ++i)
    places_[static_cast<std::size_t>(missing[static_cast<std::size_t>(i)])] = kernels::RowPlace{number, i};
  return true;
}

ConstTensor ResidentKeys::bring(kernels::Queue& queue, const ConstTensor& keys, std::int64_t capacity) {
  const std::int64_t n = keys.size(0), width = keys.size(1);
  if (!memory_ || memory_->device() != queue.device()) {
    there_ = 0;
    capacity = std::max<std::int64_t>({capacity, n, 1});
    try {
      memory_ = std::make_unique<Buffer>(queue.backend().allocate(row_bytes(keys.dtype, capacity * width)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_capacity) throw;
      return {};
    }
  }
  const Tensor all = memory_->tensor(keys.dtype, {std::max(n, there_), width});
  if (n > there_) kernels::copy(queue, all.rows(there_, n - there_), keys.rows(there_, n - there_));
  there_ = std::max(n, there_);
  return all.rows(0, n);
}

}  // namespace mplus::memory
