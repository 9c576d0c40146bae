#include "mplus/model/read_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "mplus/core/error.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/kernels/attention.h"
#include "mplus/kernels/linear.h"
#include "mplus/kernels/norm.h"

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

void embed(Workspace& w, std::span<const Share> shares) {
  const std::int64_t d = w.weights().config.hidden;
  for (const Share& s : shares) {
    for (std::int64_t t = 0; t < s.T; ++t) {
      const TokenId id = s.item->tokens[static_cast<std::size_t>(t)];
      MPLUS_CHECK(id >= 0 && id < w.weights().config.vocab, "token {} of {}", id, w.weights().config.vocab);
      io::dequantise_row(w.x.data() + (s.at + t) * d, w.weights().embedding, id);
    }
  }
}

// Rows a read may have in front of its own tokens, at most.
std::int64_t prefix_rows(const ReadItem& item) {
  std::int64_t rows = item.window ? item.window->size() : 0;
  if (item.memory) rows += 1 + item.memory->layout().K0 + item.memory->layout().N;
  return rows;
}

// Softmax over the scouts of their products with the layer's vector: [T].
void pool_shares(float* shares, const float* xn, std::int64_t T, const float* vector, std::int64_t d) {
  float most = -std::numeric_limits<float>::infinity(), sum = 0;
  for (std::int64_t t = 0; t < T; ++t)
    most = std::max(most, shares[t] = std::inner_product(vector, vector + d, xn + t * d, 0.0f));
  for (std::int64_t t = 0; t < T; ++t) sum += shares[t] = std::exp(shares[t] - most);
  for (std::int64_t t = 0; t < T; ++t) shares[t] /= sum;
}

memory::LayerQueries scout_queries(Workspace& w, const Share& s, std::int64_t l) {
  const io::ModelConfig& c = w.weights().config;
  const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
  const std::int64_t at = s.at + s.item->scouts_begin;
  const float* xn = w.xn.data() + at * c.hidden;
  memory::LayerQueries queries{.T = s.item->scouts_end - s.item->scouts_begin,
                               .attention = w.q.data() + at * c.heads * c.head_size,
                               .heads = c.heads,
                               .head_size = c.head_size};
  if (queries.T == 0 || layer.query.empty()) return queries;
  retriever_project(w, w.query.data(), xn, queries.T, layer.query, false);
  require_finite(w, l, "retriever queries", w.query.data(), queries.T * w.weights().memory->d_r);
  queries.retriever = w.query.data();
  if (layer.pool) {
    pool_shares(w.pool.data(), xn, queries.T, layer.pool, c.hidden);
    queries.pool = w.pool.data();
  }
  return queries;
}

void append_to(Workspace& w, kernels::KvCache& cache, DType dtype, std::int64_t n) {
  kernels::append_rows(w.context(), cache, w.kv_shape(), dtype, w.k_rows.data(), w.v_rows.data(), n, w.rope(),
                       cache.rows);
}

void append_contiguous(Workspace& w, kernels::KvCache& cache, DType dtype, const std::byte* k,
                       const std::byte* v, std::size_t row_size_bytes, std::int64_t n) {
  w.k_rows.resize(static_cast<std::size_t>(n));
  w.v_rows.resize(static_cast<std::size_t>(n));
  for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r) {
    w.k_rows[r] = k + r * row_size_bytes;
    w.v_rows[r] = v + r * row_size_bytes;
  }
  append_to(w, cache, dtype, n);
}

void append_recalled(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                     std::span<const memory::RecalledRow> rows) {
  w.k_rows.resize(rows.size());
  w.v_rows.resize(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const memory::RowsView view = memory.long_term().rows_of(layer, rows[r].id);
    w.k_rows[r] = view.k_row(memory.layout(), rows[r].id.row);
    w.v_rows[r] = view.v_row(memory.layout(), rows[r].id.row);
  }
  append_to(w, cache, memory.layout().dtype, static_cast<std::int64_t>(rows.size()));
}

// Those of a layer's slots that were born so; all of them without a list.
void append_slots(Workspace& w, const memory::Memory& memory, std::int64_t layer, kernels::KvCache& cache,
                  const std::optional<std::vector<std::int64_t>>& births) {
  const memory::RowsView slots = memory.short_term(layer);
  if (!births)
    return append_contiguous(w, cache, memory.layout().dtype, slots.k, slots.v, memory.layout().kv_bytes(),
                             slots.n);
  const std::unordered_set<std::int64_t> seen(births->begin(), births->end());
  w.k_rows.clear();
  w.v_rows.clear();
  for (std::int64_t row = 0; row < slots.n; ++row) {
    if (!seen.contains(slots.birth[row])) continue;
    w.k_rows.push_back(slots.k_row(memory.layout(), row));
    w.v_rows.push_back(slots.v_row(memory.layout(), row));
  }
  append_to(w, cache, memory.layout().dtype, std::ssize(w.k_rows));
}

void append_bos(Workspace& w, kernels::KvCache& cache, std::int64_t l, Adapter adapter) {
  append_contiguous(w, cache, DType::f32, reinterpret_cast<const std::byte*>(w.bos_k(l, adapter)),
                    reinterpret_cast<const std::byte*>(w.bos_v(l, adapter)), 0, 1);
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
        memory::LayerRecall recall = item.recall->rows(w.context(), memory, l, queries);
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
  if (item.window)
    append_contiguous(w, cache, item.window->dtype(), item.window->k(l), item.window->v(l),
                      item.window->row_size_bytes(), item.window->size());
}

// The tokens' own keys and values, in the precision the window keeps.
void append_tokens(Workspace& w, const Share& s, std::int64_t l) {
  const std::int64_t kv = w.weights().config.kv_heads * w.weights().config.head_size;
  const float* k = w.k.data() + s.at * kv;
  const float* v = w.v.data() + s.at * kv;
  kernels::KvCache& cache = s.item->cache->layer(l);
  if (memory::WindowRows* window = s.item->scout ? nullptr : s.item->window) {
    window->append(l, k, v, s.T);
    const auto at = static_cast<std::size_t>(window->size()) * window->row_size_bytes();
    append_contiguous(w, cache, window->dtype(), window->k(l) + at, window->v(l) + at,
                      window->row_size_bytes(), s.T);
  } else {
    append_contiguous(w, cache, DType::f32, reinterpret_cast<const std::byte*>(k),
                      reinterpret_cast<const std::byte*>(v), static_cast<std::size_t>(kv) * sizeof(float),
                      s.T);
  }
}

void tap_attention(Workspace& w, const Share& s, std::int64_t l) {
  const ReadTaps* taps = s.item->taps;
  if (!taps || !taps->attention) return;
  const kernels::KvShape shape = w.kv_shape();
  const std::int64_t n = std::min(taps->attention_queries, s.T);
  const kernels::KvCache& cache = s.item->cache->layer(l);
  AlignedVector<float> weights(static_cast<std::size_t>(shape.heads * n * cache.rows));
  const float* q = w.q.data() + (s.at + s.T - n) * shape.heads * shape.head_size;
  kernels::attention_weights(w.context(), weights.data(), q, n, cache, shape);
  taps->attention(l, weights, n, cache.rows);
}

// Everything but attention itself: what the share's queries attend to, and where the result goes.
kernels::AttendItem prepare_attention(Workspace& w, const Share& s, std::int64_t l, Adapter adapter) {
  const ReadItem& item = *s.item;
  const kernels::KvShape shape = w.kv_shape();
  const bool tapped = item.taps && item.taps->queries;
  memory::LayerQueries queries;
  if (tapped || item.scout || (!item.cache->assembled() && item.recall)) queries = scout_queries(w, s, l);
  if (tapped) item.taps->queries(l, queries);
  if (item.scout) item.scout->keep(l, queries, w.weights());
  if (!item.cache->assembled()) assemble(w, s, l, queries, adapter);
  append_tokens(w, s, l);
  const std::int64_t at = s.at * shape.heads * shape.head_size;
  kernels::KvCache cache = item.cache->layer(l);
  kernels::rope(w.context(), w.q.data() + at, s.T, shape.heads, w.rope(), cache.rows - s.T, 0);
  tap_attention(w, s, l);
  if (item.scout) {  // over what stands behind the room in front
    const std::int64_t front = item.cache->front_rows(l);
    cache.keys += front * shape.head_size;
    cache.values += front * shape.head_size;
    cache.rows -= front;
  }
  return {.out = w.o.data() + at, .q = w.q.data() + at, .T = s.T, .cache = cache};
}

void attend_shares(Workspace& w, std::span<const Share> shares, std::int64_t l, Adapter adapter) {
  w.attend_items.clear();
  for (const Share& s : shares) w.attend_items.push_back(prepare_attention(w, s, l, adapter));
  kernels::attend(w.context(), w.attend_items, w.kv_shape());
  for (const Share& s : shares)
    if (s.item->scout) s.item->cache->layer(l).rows -= s.T;
}

std::int64_t first_with_logits(const Share& s) {
  return s.item->scout ? s.T : std::max<std::int64_t>(0, s.item->logits_from);
}

void emit_logits(Workspace& w, std::span<const Share> shares, const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  struct Wanted {
    std::size_t item;
    std::int64_t token;
  };
  Wanted wanted[Workspace::kLogitRows];
  std::int64_t n = 0;
  const auto flush = [&] {
    kernels::linear(w.context(), w.logits.data(), w.xn.data(), n, w.weights().head);
    require_finite(w, -1, "logits", w.logits.data(), n * c.vocab);
    for (std::int64_t i = 0; i < n; ++i)
      sink(wanted[i].item, wanted[i].token,
           {w.logits.data() + i * c.vocab, static_cast<std::size_t>(c.vocab)});
    n = 0;
  };
  for (const Share& s : shares)  // of all, before anybody gets any
    if (const std::int64_t first = first_with_logits(s); first < s.T)
      require_finite(w, -1, "hidden states", w.x.data() + (s.at + first) * c.hidden,
                     (s.T - first) * c.hidden);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::int64_t t = first_with_logits(shares[i]); t < shares[i].T; ++t) {
      kernels::rms_norm(w.context(), w.xn.data() + n * c.hidden, w.x.data() + (shares[i].at + t) * c.hidden,
                        w.weights().final_norm, 1, c.hidden, c.norm_epsilon);
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

void tap_hidden(const Workspace& w, std::span<const Share> shares, std::int64_t l) {
  const std::int64_t d = w.weights().config.hidden;
  for (const Share& s : shares)
    if (s.item->taps && s.item->taps->hidden)
      s.item->taps->hidden(l, {w.x.data() + s.at * d, static_cast<std::size_t>(s.T * d)});
}

}  // namespace

void read_pass(Workspace& w, std::span<const ReadItem> batch, Adapter adapter, const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  std::int64_t rows = 0;
  const std::span<const Share> shares = stack_rows(w, batch, rows);
  if (rows == 0) return;
  prepare(w, shares, rows);
  const bool all_scout =
      std::all_of(batch.begin(), batch.end(), [](const ReadItem& item) { return item.scout != nullptr; });

  embed(w, shares);  // [rows,d]
  for (std::int64_t l = 0; l < c.layers; ++l) {
    for (const ReadItem& item : batch) end_if_stopped(item.stop);
    const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
    tap_hidden(w, shares, l);
    kernels::rms_norm(w.context(), w.xn.data(), w.x.data(), layer.attention_norm, rows, c.hidden,
                      c.norm_epsilon);
    project(w, w.xn.data(), rows,  // [rows,H·e], [rows,G·e] twice
            {{w.q.data(), &layer.q}, {w.k.data(), &layer.k}, {w.v.data(), &layer.v}}, adapter, false);
    require_finite_attention(w, l, rows, rows);
    attend_shares(w, shares, l, adapter);       // [rows,H·e]
    if (all_scout && l + 1 == c.layers) break;  // their queries were the last thing asked for
    finish_layer(w, layer, w.x.data(), w.o.data(), rows, adapter, false);  // [rows,d]
  }
  emit_logits(w, shares, sink);
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
