#include "mplus/memory/memory.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mplus/core/drops.h"
#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::memory {

Memory::Memory(const Layout& layout, std::uint64_t seed) : layout_(layout), seed_(seed), long_term_(layout) {
  host_budget().require(static_cast<std::size_t>(layout.remembering_layers() * layout.N) *
                        layout.row_cost_bytes());
  slots_.reserve(static_cast<std::size_t>(layout.layers));
  for (std::int64_t l = 0; l < layout.layers; ++l)
    slots_.push_back(std::make_shared<Rows>(layout, layout.remembering.contains(l) ? layout.N : 0));
}

std::span<const float> Memory::tail(std::int64_t layer) const {
  if (!tail_) return {};
  return {tail_->on_host(layout_.remembering.place(layer)),
          static_cast<std::size_t>(tail_rows() * layout_.hidden)};
}

ConstTensor Memory::tail_near(const Device& device, std::int64_t layer) const {
  if (!tail_) return {nullptr, DType::f32, {0, layout_.hidden}};
  return tail_->near(device, layout_.remembering.place(layer));
}

std::int64_t Memory::drop_count(std::int64_t layer, std::int64_t n) const {
  return std::max<std::int64_t>(0, slots_[static_cast<std::size_t>(layer)]->size() + n - layout_.N);
}

void Memory::update(std::span<const NewRows> layers, const Drops* drops, kernels::Queue* queue) {
  MPLUS_CHECK(std::ssize(layers) == layout_.remembering_layers(), "{} layers", layers.size());
  const std::int64_t n = layers[0].n;
  MPLUS_CHECK(0 < n && n <= std::min(layout_.K, layout_.N), "update of {} rows, K {}, N {}", n, layout_.K,
              layout_.N);
  for (const NewRows& rows : layers)
    MPLUS_CHECK(rows.n == n, "{} rows in one layer, {} in another", rows.n, n);
  ThreadPool* threads = queue ? &queue->pool() : nullptr;
  settle(threads);
  require_slots();
  std::int64_t most_drops = 0;  // layers differ once something was forgotten
  for (const std::int64_t l : layout_.remembering.list(layout_.layers)) {
    const std::int64_t count = drops ? std::ssize((*drops)[static_cast<std::size_t>(l)]) : drop_count(l, n);
    if (layout_.has_long_term()) most_drops = std::max(most_drops, count);
  }
  long_term_.begin_append(layout_, most_drops);
  std::vector<Settling::Layer> changes(layers.size());
  const auto one_layer = [&](std::int64_t place, int) {
    const auto p = static_cast<std::size_t>(place);
    changes[p] = update_layer(layout_.remembering.layer(place), layers[p], drops);
  };
  if (threads) {
    threads->run(std::ssize(layers), one_layer);
  } else {
    for (std::int64_t place = 0; place < std::ssize(layers); ++place) one_layer(place, 0);
  }
  if (queue && !queue->device().is_cpu()) put_on_device(*queue, changes);
  const bool later = std::all_of(layers.begin(), layers.end(), [&](const NewRows& rows) {
    return rows.memory && (!layout_.keep_hidden || rows.hidden_memory);
  });
  const std::shared_ptr<Segment> grown = most_drops > 0 ? long_term_.segments().back().segment : nullptr;
  settling_ =
      std::make_shared<Settling>(layout_, grown, std::move(changes), long_term_.enforce_capacity(layout_));
  if (!later) settle(threads);
  tail_ = std::make_shared<Tail>(layers, layout_.hidden);
  ++updates_;
}

// Room for slots that are about to be copied, before anything changes.
void Memory::require_slots() const {
  std::int64_t rows = 0;
  for (const auto& slots : slots_) rows += slots.use_count() > 1 ? slots->capacity() : 0;
  host_budget().require(static_cast<std::size_t>(rows) * layout_.row_cost_bytes());
}

Rows& Memory::owned(std::int64_t layer) {
  auto& slots = slots_[static_cast<std::size_t>(layer)];
  if (slots.use_count() > 1) slots = slots->copy(layout_);
  return *slots;
}

std::vector<std::int64_t> Memory::random_drops(std::int64_t layer, std::int64_t n) const {
  const std::size_t l = static_cast<std::size_t>(layer);
  const std::int64_t size = slots_[l]->size();
  if (drop_count(layer, n) == 0) return {};
  if (chosen_.seed == seed_ && chosen_.update == updates_ && chosen_.n == n && chosen_.sizes[l] == size)
    return chosen_.drops[l];
  return choose_drops(seed_, layout_.drop_per_layer ? layer : 0, updates_, size, drop_count(layer, n));
}

void Memory::get_ready(std::int64_t n, ThreadPool* threads) {
  settle(threads);
  if (chosen_.seed == seed_ && chosen_.update == updates_ && chosen_.n == n) return;
  Chosen chosen{seed_, updates_, n, {}, Drops(slots_.size())};
  for (const auto& slots : slots_) chosen.sizes.push_back(slots->size());
  const auto one_layer = [&](std::int64_t place, int) {
    const std::int64_t l = layout_.remembering.layer(place);
    chosen.drops[static_cast<std::size_t>(l)] = random_drops(l, n);
    if (layout_.has_long_term()) long_term_.get_ready(layout_, l, drop_count(l, n));
  };
  if (threads) {
    threads->run(layout_.remembering_layers(), one_layer);
  } else {
    for (std::int64_t place = 0; place < layout_.remembering_layers(); ++place) one_layer(place, 0);
  }
  chosen_ = std::move(chosen);
}

// Touches nothing of the other layers.
Settling::Layer Memory::update_layer(std::int64_t layer, const NewRows& rows, const Drops* drops) {
  Rows& slots = owned(layer);
  const std::vector<std::int64_t> dropped =
      drops ? (*drops)[static_cast<std::size_t>(layer)] : random_drops(layer, rows.n);
  Settling::Layer change{.slots = &slots, .rows = rows, .layer = layer};
  if (!dropped.empty()) {
    MPLUS_CHECK(std::is_sorted(dropped.begin(), dropped.end()) && dropped.front() >= 0 &&
                    dropped.back() < slots.size(),
                "layer {}: slots to drop must be ascending and below {}", layer, slots.size());
    std::vector<std::int64_t> births;
    births.reserve(dropped.size());
    for (const std::int64_t row : dropped) births.push_back(slots.view().birth[row]);
    if (layout_.has_long_term()) change.first = long_term_.append(layer, births);
    change.dropped = slots.remove(dropped.data(), std::ssize(dropped));
  }
  std::vector<std::int64_t> births(static_cast<std::size_t>(rows.n));
  std::iota(births.begin(), births.end(), updates_ * layout_.K + (layout_.K - rows.n));
  change.taken = slots.extend(births);
  return change;
}

// A device that fails here fails at the next operation, too; the host has the rows.
void Memory::put_on_device(kernels::Queue& queue, std::span<const Settling::Layer> layers) const {
  std::vector<kernels::RowScatter> copies;
  try {
    for (const Settling::Layer& layer : layers)
      layer.slots->resident().put(queue, layout_, layer.taken, layer.rows, copies);
    kernels::scatter_rows(queue, copies);
  } catch (const Error&) {
    for (const Settling::Layer& layer : layers) layer.slots->resident().change(layer.taken);
  }
}

void Memory::rewrite(const Rewriting& chunks) {
  settle();
  long_term_.rewrite(layout_, chunks);
  for (std::int64_t l = 0; l < layout_.layers; ++l) {
    const std::int64_t n = slots_[static_cast<std::size_t>(l)]->size();
    std::vector<std::int64_t> gone;
    for (std::int64_t r = 0; r < n; ++r) {
      const std::int64_t birth = slots_[static_cast<std::size_t>(l)]->view().birth[r];
      if (!chunks.touches(birth)) continue;
      if (const auto place = chunks.instead_of(l, birth)) {
        owned(l).replace(layout_, r, place->rows, place->row);
      } else {
        gone.push_back(r);
      }
    }
    if (!gone.empty()) owned(l).remove(gone.data(), std::ssize(gone));
  }
  if (chunks.has(updates_ - 1)) load_tail(chunks.rows(updates_ - 1), chunks.newest_hidden());
}

bool Memory::equals(const Rewriting& chunks) const {
  settle();
  bool same = true;
  for (std::int64_t l = 0; l < layout_.layers; ++l) {
    const RowsView slots = short_term(l);
    for (std::int64_t r = 0; r < slots.n; ++r)
      if (chunks.touches(slots.birth[r])) same = same && chunks.equals(l, slots, r);
    long_term_.for_each(l, [&](RowId id, std::int64_t birth) {
      if (chunks.touches(birth)) same = same && chunks.equals(l, long_term_.rows_of(l, id), id.row);
    });
  }
  return same;
}

LongTermStore::ChunkCount Memory::count(const std::set<std::int64_t>& chunks) const {
  LongTermStore::ChunkCount counted = long_term_.count(layout_, chunks);
  for (std::int64_t l = 0; l < layout_.layers; ++l) {
    const RowsView rows = short_term(l);
    counted.rows += std::count_if(rows.birth, rows.birth + rows.n, [&](std::int64_t birth) {
      return chunks.count(chunk_of(birth, layout_.K)) > 0;
    });
  }
  return counted;
}

void Memory::load_short_term(std::span<const RowsView> layers) {
  MPLUS_CHECK(static_cast<std::int64_t>(layers.size()) == layout_.layers, "{} layers", layers.size());
  settle();
  for (std::size_t l = 0; l < layers.size(); ++l)
    slots_[l] = std::make_shared<Rows>(layout_, slots_[l]->capacity(), layers[l]);
}

void Memory::load_tail(std::int64_t rows, std::span<const float> hidden) {
  MPLUS_CHECK(std::ssize(hidden) == layout_.remembering_layers() * rows * layout_.hidden, "{} values",
              hidden.size());
  tail_.reset();
  if (rows > 0) tail_ = std::make_shared<Tail>(rows, layout_.hidden, hidden);
}

std::size_t Memory::size_bytes() const {
  std::size_t size = static_cast<std::size_t>(layout_.remembering_layers()) *
                     row_bytes(DType::f32, tail_rows() * layout_.hidden);
  for (std::int64_t l = 0; l < layout_.layers; ++l) {
    size += static_cast<std::size_t>(short_term(l).n) * layout_.row_cost_bytes();
    long_term_.for_each(l, [&](RowId id, std::int64_t) {
      size += layout_.row_cost_bytes(long_term_.segments()[id.segment].segment->format());
    });
  }
  return size;
}

}  // namespace mplus::memory
