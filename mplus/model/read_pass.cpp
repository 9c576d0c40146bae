#include "mplus/model/read_pass.h"

#include <algorithm>
#include <unordered_set>

#include "mplus/core/error.h"
#include "mplus/kernels/attention.h"
#include "mplus/kernels/embedding.h"
#include "mplus/kernels/linear.h"
#include "mplus/kernels/norm.h"
#include "mplus/kernels/parallel.h"
#include "mplus/kernels/pooling.h"

namespace mplus::model {
namespace {

using Share = ReadShare;

std::span<const Share> stack_rows(Workspace& w, std::span<const ReadItem> batch, std::int64_t& rows) {
  w.read_shares.clear();
  rows = 0;
  for (const ReadItem& item : batch) {
    w.read_shares.push_back({&item, rows, static_cast<std::int64_t>(item.tokens.size())});
    rows += w.read_shares.back().T;
  }
  return w.read_shares;
}

// Rows a read may have in front of its own tokens, at most.
std::int64_t prefix_rows(const ReadItem& item) {
  std::int64_t rows = item.window ? item.window->size() : 0;
  if (item.memory) rows += 1 + item.memory->layout().K0 + item.memory->layout().N;
  return rows;
}

memory::LayerQueries scout_queries(Workspace& w, const Activations& a, const Share& s, std::int64_t l) {
  const io::ModelConfig& c = w.weights().config;
  const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
  const std::int64_t at = s.at + s.item->scouts_begin, T = s.item->scouts_end - s.item->scouts_begin;
  memory::LayerQueries queries{
      .T = T, .attention = a.q.rows(at, T).on_host<float>(), .heads = c.heads, .head_size = c.head_size};
  if (T == 0 || layer.query.empty()) return queries;
  const ConstTensor xn = a.xn.rows(at, T);
  const Tensor query = a.query.rows(0, T), shares = a.pool.rows(0, T);
  retriever_project(w, query, xn, layer.query, kernels::Rows::few);
  require_finite(w, l, "retriever queries", query);
  queries.retriever = query.on_host<float>();
  if (layer.pool.empty()) return queries;
  kernels::pooling_shares(w.queue(), shares, xn, layer.pool);
  queries.pool = shares.on_host<float>();
  return queries;
}

void append(Workspace& w, kernels::KvCache& cache, ConstTensor k, ConstTensor v) {
  kernels::append_rows(w.queue(), cache, w.kv_shape(), k, v, w.rope());
}

kernels::RowBlock block_of(const memory::RowsView& rows, const memory::Layout& layout) {
  return {{rows.k, layout.dtype, {rows.n, layout.kv}}, {rows.v, layout.dtype, {rows.n, layout.kv}}};
}

// Rows that are kept in few bits get their values back first.
void append_expanded(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                     std::span<const memory::RecalledRow> rows) {
  const std::int64_t kv = memory.layout().kv;
  const auto n = std::ssize(rows);
  w.expanded.resize(static_cast<std::size_t>(2 * n * kv));
  float* values = w.expanded.data();
  for (const memory::RecalledRow& row : rows) memory.long_term().rows_of(layer, row.id);  // may throw
  kernels::parallel_ranges(w.queue(), n, 4 * kv, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const memory::RowId id = rows[static_cast<std::size_t>(r)].id;
      const memory::RowsView view = memory.long_term().segments()[id.segment].rows(layer);
      view.expand_k(memory.layout(), values + r * kv, id.row);
      view.expand_v(memory.layout(), values + (n + r) * kv, id.row);
    }
  });
  append(w, cache, {values, DType::f32, {n, kv}}, {values + n * kv, DType::f32, {n, kv}});
}

void append_recalled(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                     std::span<const memory::RecalledRow> rows) {
  const auto& segments = memory.long_term().segments();
  if (std::any_of(rows.begin(), rows.end(), [&](const memory::RecalledRow& row) {
        return segments[row.id.segment].segment->format() != RowFormat::plain;
      }))
    return append_expanded(w, memory, layer, cache, rows);
  w.blocks.assign(memory.long_term().segments().size(), {});
  w.places.clear();
  for (const memory::RecalledRow& row : rows) {
    w.blocks[row.id.segment] = block_of(memory.long_term().rows_of(layer, row.id), memory.layout());
    w.places.push_back({row.id.segment, row.id.row});
  }
  kernels::gather_rows(w.queue(), cache, w.kv_shape(), {w.blocks, w.places}, w.rope());
}

// Those of a layer's slots that were born so; all of them without a list.
void append_slots(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                  const std::optional<std::vector<std::int64_t>>& births) {
  const memory::RowsView slots = memory.short_term(layer);
  const kernels::RowBlock block = block_of(slots, memory.layout());
  if (!births) return append(w, cache, block.k, block.v);
  const std::unordered_set<std::int64_t> seen(births->begin(), births->end());
  w.places.clear();
  for (std::int64_t row = 0; row < slots.n; ++row)
    if (seen.contains(slots.birth[row])) w.places.push_back({0, row});
  kernels::gather_rows(w.queue(), cache, w.kv_shape(), {{&block, 1}, w.places}, w.rope());
}

void append_bos(Workspace& w, kernels::KvCache& cache, std::int64_t l, Adapter adapter) {
  append(w, cache, w.bos_k(l, adapter), w.bos_v(l, adapter));
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

struct WindowTensors {
  ConstTensor k, v;  // [n, G·e]
};
WindowTensors tensors_of(const memory::WindowRows& window, std::int64_t l, const kernels::KvShape& shape,
                         std::int64_t n) {
  const std::int64_t kv = shape.groups * shape.head_size;
  return {{window.k(l), window.dtype(), {n, kv}}, {window.v(l), window.dtype(), {n, kv}}};
}

// [bos | recalled | short-term | window] of one layer. Attention sees how far apart rows are, not where they
// stand, so that scouts may leave room in front for what they will find.
void assemble(Workspace& w, const Share& s, std::int64_t l, const memory::LayerQueries& queries,
              Adapter adapter) {
  const ReadItem& item = *s.item;
  kernels::KvCache& cache = item.cache->layer(l);
  if (item.memory) {
    const memory::Memory& memory = *item.memory;
    if (item.scout) {
      item.cache->front_rows(l) =
          queries.retriever ? std::min(memory.layout().K0, memory.long_term().size(l)) : 0;
      cache.rows = item.cache->front_rows(l);
    } else {
      if (item.recall && queries.retriever) {
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
    const WindowTensors rows = tensors_of(*item.window, l, w.kv_shape(), item.window->size());
    append(w, cache, rows.k, rows.v);
  }
}

// The tokens' own keys and values, in the precision the window keeps.
void append_tokens(Workspace& w, const Activations& a, const Share& s, std::int64_t l) {
  const ConstTensor k = a.k.rows(s.at, s.T), v = a.v.rows(s.at, s.T);
  kernels::KvCache& cache = s.item->cache->layer(l);
  memory::WindowRows* window = s.item->scout ? nullptr : s.item->window;
  if (!window) return append(w, cache, k, v);
  window->append(l, k.on_host<float>(), v.on_host<float>(), s.T);
  const WindowTensors kept = tensors_of(*window, l, w.kv_shape(), window->size() + s.T);
  append(w, cache, kept.k.rows(window->size(), s.T), kept.v.rows(window->size(), s.T));
}

void tap_attention(Workspace& w, const Activations& a, const Share& s, std::int64_t l) {
  const ReadTaps* taps = s.item->taps;
  if (!taps || !taps->attention) return;
  const kernels::KvShape shape = w.kv_shape();
  const std::int64_t n = std::min(taps->attention_queries, s.T);
  const kernels::KvCache& cache = s.item->cache->layer(l);
  AlignedVector<float> weights(static_cast<std::size_t>(shape.heads * n * cache.rows));
  kernels::attention_weights(w.queue(), {weights.data(), DType::f32, {shape.heads, n, cache.rows}},
                             a.q.rows(s.at + s.T - n, n), cache, shape);
  taps->attention(l, weights, n, cache.rows);
}

// Everything but attention itself: what the share's queries attend to, and where the result goes.
kernels::AttendItem prepare_attention(Workspace& w, const Activations& a, const Share& s, std::int64_t l,
                                      Adapter adapter) {
  const ReadItem& item = *s.item;
  const bool tapped = item.taps && item.taps->queries;
  memory::LayerQueries queries;
  if (tapped || item.scout || (!item.cache->assembled() && item.recall)) queries = scout_queries(w, a, s, l);
  if (tapped) item.taps->queries(l, queries);
  if (item.scout) item.scout->keep(l, queries, w.weights());
  if (!item.cache->assembled()) assemble(w, s, l, queries, adapter);
  append_tokens(w, a, s, l);
  const kernels::KvCache& cache = item.cache->layer(l);
  const Tensor q = a.q.rows(s.at, s.T), o = a.o.rows(s.at, s.T);
  kernels::rope(w.queue(), q, w.rope(), cache.rows - s.T);
  tap_attention(w, a, s, l);
  // Scouts look at what stands behind the room in front.
  const std::int64_t front = item.scout ? item.cache->front_rows(l) : 0;
  return {.out = o.on_host<float>(),
          .q = q.on_host<float>(),
          .T = s.T,
          .cache = kernels::behind(cache, front, w.kv_shape())};
}

void attend_shares(Workspace& w, const Activations& a, std::span<const Share> shares, std::int64_t l,
                   Adapter adapter) {
  w.attend_items.clear();
  for (const Share& s : shares) w.attend_items.push_back(prepare_attention(w, a, s, l, adapter));
  kernels::attend(w.queue(), w.attend_items, w.kv_shape());
  for (const Share& s : shares)
    if (s.item->scout) s.item->cache->layer(l).rows -= s.T;
}

std::int64_t first_with_logits(const Share& s) {
  return s.item->scout ? s.T : std::max<std::int64_t>(0, s.item->logits_from);
}

void emit_logits(Workspace& w, ConstTensor x, std::span<const Share> shares, const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  struct Wanted {
    std::size_t item;
    std::int64_t token;
  };
  Wanted wanted[Workspace::kLogitRows];
  const Tensor normed = w.rows(Workspace::kLogitRows).xn;
  std::int64_t n = 0;
  const auto flush = [&] {
    const Tensor logits = w.logits(n);
    kernels::linear(w.queue(), logits, normed.rows(0, n), w.weights().head);
    require_finite(w, -1, "logits", logits);
    for (std::int64_t i = 0; i < n; ++i)
      sink(wanted[i].item, wanted[i].token,
           {logits.row(i).on_host<float>(), static_cast<std::size_t>(c.vocab)});
    n = 0;
  };
  for (const Share& s : shares)  // of all, before anybody gets any
    if (const std::int64_t first = first_with_logits(s); first < s.T)
      require_finite(w, -1, "hidden states", x.rows(s.at + first, s.T - first));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::int64_t t = first_with_logits(shares[i]); t < shares[i].T; ++t) {
      kernels::rms_norm(w.queue(), normed.rows(n, 1), x.rows(shares[i].at + t, 1), w.weights().final_norm,
                        c.norm_epsilon);
      wanted[n++] = {i, t};
      if (n == Workspace::kLogitRows) flush();
    }
  }
  if (n > 0) flush();
}

void prepare(Workspace& w, std::span<const Share> shares, std::int64_t rows) {
  w.reserve(std::max(rows, Workspace::kLogitRows));
  for (const Share& s : shares) {
    const ReadItem& item = *s.item;
    const std::int64_t most = (item.cache->assembled() ? item.cache->most_rows() : prefix_rows(item)) + s.T;
    item.cache->reserve(most);
    w.reserve_positions(most);
  }
}

void tap_hidden(ConstTensor x, std::span<const Share> shares, std::int64_t l) {
  for (const Share& s : shares) {
    const ConstTensor own = x.rows(s.at, s.T);
    if (s.item->taps && s.item->taps->hidden)
      s.item->taps->hidden(l, {own.on_host<float>(), static_cast<std::size_t>(own.elements())});
  }
}

}  // namespace

void read_pass(Workspace& w, std::span<const ReadItem> batch, Adapter adapter, const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  const PassKind kind{adapter, kernels::Rows::few};
  std::int64_t rows = 0;
  const std::span<const Share> shares = stack_rows(w, batch, rows);
  if (rows == 0) return;
  prepare(w, shares, rows);
  const bool all_scout =
      std::all_of(batch.begin(), batch.end(), [](const ReadItem& item) { return item.scout != nullptr; });

  const Activations a = w.rows(rows);
  for (const Share& s : shares)
    kernels::embed(w.queue(), a.x.rows(s.at, s.T), w.weights().embedding, s.item->tokens);  // [rows,d]
  for (std::int64_t l = 0; l < c.layers; ++l) {
    for (const ReadItem& item : batch) end_if_stopped(item.stop);
    const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
    tap_hidden(a.x, shares, l);
    kernels::rms_norm(w.queue(), a.xn, a.x, layer.attention_norm, c.norm_epsilon);  // [rows,d]
    project(w, a.xn, {{a.q, &layer.q}, {a.k, &layer.k}, {a.v, &layer.v}},
            kind);  // [rows,H·e], [rows,G·e] twice
    require_finite_attention(w, l, a.q, a);
    attend_shares(w, a, shares, l, adapter);    // [rows,H·e]
    if (all_scout && l + 1 == c.layers) break;  // their queries were the last thing asked for
    finish_layer(w, layer, a.x, a.o, kind);     // [rows,d]
  }
  emit_logits(w, a.x, shares, sink);
  for (const Share& s : shares) {
    if (s.item->scout) {
      s.item->cache->set_scouted();
      continue;
    }
    s.item->cache->set_assembled();
    if (s.item->window) s.item->window->commit(s.T);
  }
}

void ScoutStates::keep(std::int64_t layer, const memory::LayerQueries& queries, const Weights& weights) {
  const auto count = static_cast<std::size_t>(weights.config.layers), l = static_cast<std::size_t>(layer);
  const std::int64_t width = weights.config.heads * weights.config.head_size;
  for (auto* states : {&retriever, &attention, &pool}) states->resize(count);
  layers.resize(count);
  const auto copy = [&](AlignedVector<float>& to, const float* from, std::int64_t size) -> const float* {
    if (!from) return nullptr;
    to.assign(from, from + queries.T * size);
    return to.data();
  };
  layers[l] = queries;
  layers[l].retriever = copy(retriever[l], queries.retriever, weights.memory ? weights.memory->d_r : 0);
  layers[l].attention = copy(attention[l], queries.attention, width);
  layers[l].pool = copy(pool[l], queries.pool, 1);
}

ScoutStates scout_pass(Workspace& w, const ReadItem& item, Adapter adapter) {
  ScoutStates states;
  ReadItem scout = item;
  scout.scout = &states;
  read_pass(w, {&scout, 1}, adapter, nullptr);
  return states;
}

}  // namespace mplus::model
