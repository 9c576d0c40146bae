#include "mplus/model/passes/assemble.h"

#include <algorithm>
#include <unordered_set>

#include "mplus/memory/device/resident_store.h"
#include "mplus/model/passes/scouts.h"

namespace mplus::model {

void append_rows(Workspace& w, kernels::KvCache& cache, ConstTensor k, ConstTensor v) {
  kernels::append_rows(w.queue(), cache, w.kv_shape(), {k, v}, w.rope());
}

namespace {

// `slots`: as far as rows lie in them.
kernels::RowBlock block_of(const memory::RowsView& rows, const memory::Layout& layout, std::int64_t slots) {
  return {{rows.k, layout.dtype, {slots, layout.kv}}, {rows.v, layout.dtype, {slots, layout.kv}}};
}

// Rows of different formats: all of them as values.
void append_expanded(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                     std::span<const memory::RecalledRow> rows) {
  const std::int64_t kv = memory.layout().kv;
  const auto n = std::ssize(rows);
  w.expanded.resize(static_cast<std::size_t>(2 * n * kv));
  const Tensor values = Tensor(w.expanded.data(), DType::f32, {2, n, kv});
  memory::expand_rows(w.queue(), memory, layer, rows, values.row(0), values.row(1));
  append_rows(w, cache, values.row(0), values.row(1));
}

void append_recalled(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                     std::span<const memory::RecalledRow> rows) {
  if (rows.empty()) return;
  const auto& segments = memory.long_term().segments();
  const auto format_of = [&](const memory::RecalledRow& row) {
    return segments[row.id.segment].segment->format();
  };
  if (std::any_of(rows.begin(), rows.end(),
                  [&](const memory::RecalledRow& row) { return format_of(row) != format_of(rows.front()); }))
    return append_expanded(w, memory, layer, cache, rows);
  w.blocks.assign(segments.size(), {});
  w.places.clear();
  for (const memory::RecalledRow& row : rows) {
    kernels::RowBlock& block = w.blocks[row.id.segment];
    if (block.k.empty()) {
      block = memory::columns_of(memory.long_term().rows_of(layer, row.id), memory.layout());
      block = segments[row.id.segment].segment->resident_columns(layer).near(w.queue(), block);
    }
    w.places.push_back({row.id.segment, row.id.row});
  }
  kernels::gather_rows(w.queue(), cache, w.kv_shape(), kernels::RowGather{w.blocks, w.places}, w.rope());
}

// Those of a layer's slots that were born so; all of them without a list.
void append_slots(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                  const std::optional<std::vector<std::int64_t>>& births) {
  const memory::RowsView rows = memory.short_term(layer);
  kernels::RowBlock block = block_of(rows, memory.layout(), rows.slots ? memory.layout().N : rows.n);
  if (!w.queue().device().is_cpu() && memory.resident(layer).bring(w.queue(), memory.layout(), rows))
    block = memory.resident(layer).block();
  if (!births && !rows.slots) return append_rows(w, cache, block.k.rows(0, rows.n), block.v.rows(0, rows.n));
  std::span<const std::int32_t> numbers(rows.slots, static_cast<std::size_t>(rows.n));
  if (births) {
    const std::unordered_set<std::int64_t> seen(births->begin(), births->end());
    w.slots.clear();
    for (std::int64_t row = 0; row < rows.n; ++row)
      if (seen.contains(rows.birth[row])) w.slots.push_back(static_cast<std::int32_t>(rows.slot(row)));
    numbers = w.slots;
  }
  kernels::gather_rows(w.queue(), cache, w.kv_shape(), kernels::NumberedRows{block, numbers}, w.rope());
}

void append_bos(Workspace& w, kernels::KvCache& cache, std::int64_t l, Adapter adapter) {
  append_rows(w, cache, w.bos_k(l, adapter), w.bos_v(l, adapter));
}

// What a scout pass left behind stays where it is if the recalled rows fit in front of it.
bool fill_front(Workspace& w, const ReadItem& item, std::int64_t l, Adapter adapter) {
  kernels::KvCache& cache = item.cache->layer(l);
  const std::int64_t rows = cache.rows;
  cache.rows = 0;
  if (!item.cache->scouted() || item.cache->front_rows(l) != std::ssize(item.cache->recalled(l)))
    return false;
  append_bos(w, cache, l, adapter);
  append_recalled(w, *item.memory, l, cache, item.cache->recalled(l));
  cache.rows = rows;
  return true;
}

}  // namespace

void assemble(Workspace& w, const ReadItem& item, std::int64_t l, const memory::LayerQueries& queries,
              Adapter adapter) {
  kernels::KvCache& cache = item.cache->layer(l);
  if (item.memory) {
    const memory::Memory& memory = *item.memory;
    if (item.scout) {
      item.cache->front_rows(l) =
          asks(w, item, l) ? std::min(memory.layout().K0, memory.long_term().size(l)) : 0;
      cache.rows = item.cache->front_rows(l);
    } else {
      if (item.recall && asks(w, item, l)) {
        memory::LayerRecall recall = item.recall->rows(w.queue(), memory, l, queries);
        item.cache->recalled(l) = std::move(recall.rows);
        item.cache->seen(l) = std::move(recall.short_term);
      }
      if (!item.cache->seen(l) && fill_front(w, item, l, adapter)) return;
      cache.rows = 0;
    }
    append_bos(w, cache, l, adapter);
    append_recalled(w, memory, l, cache, item.cache->recalled(l));
    append_slots(w, memory, l, cache, item.scout ? std::nullopt : item.cache->seen(l));
  }
  if (item.window) {
    const kernels::RowBlock rows = item.window->near(w.queue(), l);
    append_rows(w, cache, rows.k, rows.v);
  }
}

}  // namespace mplus::model
