#include "mplus/memory/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mplus/core/drops.h"
#include "mplus/core/error.h"

namespace mplus::memory {

Memory::Memory(const Layout& layout, std::uint64_t seed)
    : layout_(layout), seed_(seed), tail_(std::make_shared<Tail>()), long_term_(layout) {
  slots_.reserve(static_cast<std::size_t>(layout.layers));
  for (std::int64_t l = 0; l < layout.layers; ++l)
    slots_.push_back(std::make_shared<Rows>(layout, layout.remembering.contains(l) ? layout.N : 0));
}

std::span<const float> Memory::tail(std::int64_t layer) const {
  const auto place = static_cast<std::size_t>(layout_.remembering.place(layer));
  if (tail_->layers.empty()) return {};
  return {tail_->layers[place], static_cast<std::size_t>(tail_rows_ * layout_.hidden)};
}

ConstTensor Memory::tail_near(const Device& device, std::int64_t layer) const {
  const auto place = static_cast<std::size_t>(layout_.remembering.place(layer));
  if (!tail_->on_device.empty() && tail_->on_device[place].device == device) return tail_->on_device[place];
  return {tail(layer).data(), DType::f32, {tail_rows_, layout_.hidden}};
}

std::int64_t Memory::drop_count(std::int64_t layer, std::int64_t n) const {
  return std::max<std::int64_t>(0, short_term(layer).n + n - layout_.N);
}

void Memory::update(std::span<const NewRows> layers, const Drops* drops, ThreadPool* threads) {
  MPLUS_CHECK(std::ssize(layers) == layout_.remembering_layers(), "{} layers", layers.size());
  const std::int64_t n = layers[0].n;
  MPLUS_CHECK(0 < n && n <= std::min(layout_.K, layout_.N), "update of {} rows, K {}, N {}", n, layout_.K,
              layout_.N);
  for (const NewRows& rows : layers)
    MPLUS_CHECK(rows.n == n, "{} rows in one layer, {} in another", rows.n, n);
  std::int64_t most_drops = 0;  // layers differ once something was forgotten
  for (const std::int64_t l : layout_.remembering.list(layout_.layers))
    if (layout_.has_long_term()) most_drops = std::max(most_drops, drop_count(l, n));
  long_term_.begin_append(layout_, most_drops);
  const auto one_layer = [&](std::int64_t place, int) {
    update_layer(layout_.remembering.layer(place), layers[static_cast<std::size_t>(place)], drops);
  };
  if (threads) {
    threads->run(std::ssize(layers), one_layer);
  } else {
    for (std::int64_t place = 0; place < std::ssize(layers); ++place) one_layer(place, 0);
  }
  long_term_.enforce_capacity(layout_);
  auto tail = std::make_shared<Tail>();
  for (const NewRows& rows : layers) {
    tail->memory.push_back(rows.hidden_memory);
    tail->layers.push_back(rows.hidden);
    if (!rows.hidden_memory) {
      auto copy = std::make_shared<AlignedVector<float>>(rows.hidden, rows.hidden + n * layout_.hidden);
      tail->layers.back() = copy->data();
      tail->memory.back() = std::move(copy);
    }
    if (rows.hidden_on_device.empty()) continue;
    tail->on_device.push_back(rows.hidden_on_device);
    tail->memory.push_back(rows.device_memory);
  }
  tail_ = std::move(tail);
  tail_rows_ = n;
  ++updates_;
}

// Touches nothing of the other layers.
void Memory::update_layer(std::int64_t layer, const NewRows& rows, const Drops* drops) {
  if (drops) {
    drop(layer, (*drops)[static_cast<std::size_t>(layer)]);
  } else {
    const std::int64_t stream = layout_.drop_per_layer ? layer : 0;
    drop(layer, choose_drops(seed_, stream, updates_, short_term(layer).n, drop_count(layer, rows.n)));
  }
  auto& slots = slots_[static_cast<std::size_t>(layer)];
  if (slots.use_count() > 1) slots = slots->copy(layout_);
  slots->append(layout_, rows, updates_ * layout_.K + (layout_.K - rows.n));
}

void Memory::drop(std::int64_t layer, std::span<const std::int64_t> dropped) {
  if (dropped.empty()) return;
  auto& slots = slots_[static_cast<std::size_t>(layer)];
  MPLUS_CHECK(std::is_sorted(dropped.begin(), dropped.end()) && dropped.front() >= 0 &&
                  dropped.back() < slots->size(),
              "layer {}: slots to drop must be ascending and below {}", layer, slots->size());
  const auto count = static_cast<std::int64_t>(dropped.size());
  if (layout_.has_long_term()) long_term_.append(layout_, layer, slots->view(), dropped.data(), count);
  if (slots.use_count() > 1) slots = slots->copy(layout_);
  slots->remove(layout_, dropped.data(), count);
}

void Memory::rewrite(const Rewriting& chunks) {
  long_term_.rewrite(layout_, chunks);
  for (std::int64_t l = 0; l < layout_.layers; ++l) {
    auto& slots = slots_[static_cast<std::size_t>(l)];
    const std::int64_t n = slots->size();
    std::vector<std::int64_t> gone;
    bool owned = slots.use_count() == 1;
    for (std::int64_t r = 0; r < n; ++r) {
      const std::int64_t birth = slots->view().birth[r];
      if (!chunks.touches(birth)) continue;
      if (!std::exchange(owned, true)) slots = slots->copy(layout_);
      if (const auto place = chunks.instead_of(l, birth)) {
        slots->replace(layout_, r, place->rows, place->row);
      } else {
        gone.push_back(r);
      }
    }
    slots->remove(layout_, gone.data(), std::ssize(gone));
  }
  if (chunks.has(updates_ - 1)) load_tail(chunks.rows(updates_ - 1), chunks.newest_hidden());
}

bool Memory::equals(const Rewriting& chunks) const {
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
  for (std::size_t l = 0; l < layers.size(); ++l)
    slots_[l] = std::make_shared<Rows>(layout_, slots_[l]->capacity(), layers[l]);
}

void Memory::load_tail(std::int64_t rows, std::span<const float> hidden) {
  MPLUS_CHECK(std::ssize(hidden) == layout_.remembering_layers() * rows * layout_.hidden, "{} values",
              hidden.size());
  auto values = std::make_shared<AlignedVector<float>>(hidden.begin(), hidden.end());
  auto tail = std::make_shared<Tail>();
  for (std::int64_t place = 0; place < layout_.remembering_layers(); ++place)
    tail->layers.push_back(values->data() + place * rows * layout_.hidden);
  tail->memory.push_back(std::move(values));
  tail_rows_ = rows;
  tail_ = std::move(tail);
}

std::size_t Memory::size_bytes() const {
  std::size_t size = tail_->layers.size() * row_bytes(DType::f32, tail_rows_ * layout_.hidden);
  for (std::int64_t l = 0; l < layout_.layers; ++l) {
    size += static_cast<std::size_t>(short_term(l).n) * layout_.row_cost_bytes();
    long_term_.for_each(l, [&](RowId id, std::int64_t) {
      size += layout_.row_cost_bytes(long_term_.segments()[id.segment].segment->format());
    });
  }
  return size;
}

}  // namespace mplus::memory
