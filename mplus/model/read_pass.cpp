#include "mplus/model/read_pass.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/attention.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/embedding.h"
#include "mplus/kernels/linear.h"
#include "mplus/kernels/norm.h"
#include "mplus/kernels/parallel.h"
#include "mplus/kernels/rows.h"
#include "mplus/kernels/transfer.h"
#include "mplus/model/assemble.h"
#include "mplus/model/scouts.h"

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

// The window that gets the item's tokens; null: none does.
memory::WindowRows* window_of(const ReadItem& item) { return item.scout ? nullptr : item.window; }

// The tokens' own keys and values, in the precision the window keeps.
void append_tokens(Workspace& w, const Activations& a, const Share& s, std::int64_t l) {
  const ConstTensor k = a.k.rows(s.at, s.T), v = a.v.rows(s.at, s.T);
  kernels::KvCache& cache = s.item->cache->layer(l);
  const memory::WindowRows* window = window_of(*s.item);
  if (!window) return append_rows(w, cache, k, v);
  const RowTensors kept{.k = w.outgoing.piece(window->dtype(), {s.T, k.size(1)}),
                        .v = w.outgoing.piece(window->dtype(), {s.T, v.size(1)})};
  kernels::copy(w.queue(), kept.k, k);
  kernels::copy(w.queue(), kept.v, v);
  append_rows(w, cache, kept.k, kept.v);
  w.kept.push_back(kept);
}

void tap_attention(Workspace& w, const Activations& a, const Share& s, std::int64_t l) {
  const ReadTaps* taps = s.item->taps;
  if (!taps || !taps->attention) return;
  const kernels::KvShape shape = w.kv_shape();
  const std::int64_t n = std::min(taps->attention_queries, s.T);
  const kernels::KvCache& cache = s.item->cache->layer(l);
  const std::int64_t size = std::max<std::int64_t>(1, shape.heads * n * cache.rows);
  const Buffer room = w.queue().backend().allocate(row_bytes(DType::f32, size));
  const Tensor weights = room.tensor(DType::f32, {shape.heads, n, cache.rows});
  kernels::attention_weights(w.queue(), weights, a.q.rows(s.at + s.T - n, n), cache, shape);
  taps->attention(l, kernels::to_host(w.queue(), weights), n, cache.rows);
}

// Everything but attention itself: what the share's queries attend to, and where the result goes.
kernels::AttendItem prepare_attention(Workspace& w, const Activations& a, const Share& s, std::int64_t l,
                                      Adapter adapter) {
  const ReadItem& item = *s.item;
  const bool tapped = item.taps && item.taps->queries;
  const bool recalls = !item.cache->assembled() && item.recall && item.recall->wants_queries();
  memory::LayerQueries queries;
  if (tapped || (recalls && !item.scout)) queries = ask_now(w, a, s, l);
  if (tapped) item.taps->queries(l, queries);
  if (item.scout) w.scouts.push_back(ask(w, w.outgoing, a, s, l, Asked::retriever));
  if (!item.cache->assembled()) assemble(w, item, l, queries, adapter);
  append_tokens(w, a, s, l);
  const kernels::KvCache& cache = item.cache->layer(l);
  const Tensor q = a.q.rows(s.at, s.T), o = a.o.rows(s.at, s.T);
  kernels::rope(w.queue(), q, w.rope(), cache.rows - s.T);
  tap_attention(w, a, s, l);
  // Scouts look at what stands behind the room in front.
  const std::int64_t front = item.scout ? item.cache->front_rows(l) : 0;
  return {.out = o, .q = q, .cache = kernels::behind(cache, front)};
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
    w.logits.begin(w.queue(), w.host_pool,
                   kernels::Outgoing::piece_bytes(DType::f32, Workspace::kLogitRows * c.vocab));
    const Tensor logits = w.logits.piece(DType::f32, {n, c.vocab});
    kernels::linear(w.queue(), logits, normed.rows(0, n), w.weights().head);
    require_finite(w, -1, "logits", logits);
    w.logits.bring(w.queue());
    end_checks(w);
    w.queue().wait();
    const ConstTensor rows = w.logits.on_host(logits);
    for (std::int64_t i = 0; i < n; ++i)
      sink(wanted[i].item, wanted[i].token,
           {rows.row(i).on_host<float>(), static_cast<std::size_t>(c.vocab)});
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

// Of everything the pass leaves for the host.
std::size_t outgoing_bytes(const Workspace& w, const Share& s) {
  const kernels::KvShape shape = w.kv_shape();
  const auto layers = static_cast<std::size_t>(w.weights().config.layers);
  if (s.item->scout) return layers * scout_bytes(w, scouts_of(*s.item), Asked::retriever);
  const memory::WindowRows* window = window_of(*s.item);
  if (!window) return 0;
  return layers * 2 * kernels::Outgoing::piece_bytes(window->dtype(), s.T * shape.groups * shape.head_size);
}

void prepare(Workspace& w, std::span<const Share> shares, std::int64_t rows) {
  begin_checks(w);
  w.reserve(std::max(rows, Workspace::kLogitRows));
  w.kept.clear();
  w.scouts.clear();
  std::size_t size_bytes = 0;
  for (const Share& s : shares) {
    const ReadItem& item = *s.item;
    const std::int64_t most = (item.cache->assembled() ? item.cache->most_rows() : prefix_rows(item)) + s.T;
    item.cache->reserve(w.queue(), most);
    w.reserve_positions(most);
    size_bytes += outgoing_bytes(w, s);
  }
  w.outgoing.begin(w.queue(), w.host_pool, size_bytes);
}

void tap_hidden(Workspace& w, ConstTensor x, std::span<const Share> shares, std::int64_t l) {
  for (const Share& s : shares)
    if (s.item->taps && s.item->taps->hidden)
      s.item->taps->hidden(l, kernels::to_host(w.queue(), x.rows(s.at, s.T)));
}

// Windows get their rows and scouts their states, once the pass is known to be sound. A prompt's rows are
// many: the threads share its layers.
void hand_over(Workspace& w, std::span<const Share> shares) {
  const auto layers = w.weights().config.layers;
  const auto scouting = [](const Share& s) { return s.item->scout != nullptr; };
  const auto keeping = [](const Share& s) { return window_of(*s.item) != nullptr; };
  const auto asking = static_cast<std::size_t>(std::count_if(shares.begin(), shares.end(), scouting));
  const auto windows = static_cast<std::size_t>(std::count_if(shares.begin(), shares.end(), keeping));
  std::int64_t elements = 0;
  for (const RowTensors& rows : w.kept) elements += rows.k.elements() + rows.v.elements();
  for (const Share& s : shares) {
    if (!keeping(s)) continue;
    if (s.T == 1) elements = 0;  // a window may grow by it: no thread is to allocate
    else window_of(*s.item)->reserve(window_of(*s.item)->size() + s.T);
  }
  kernels::parallel(w.queue(), windows > 0 ? layers : 0, elements, [&](std::int64_t l, int) {
    std::size_t at = static_cast<std::size_t>(l) * windows;
    for (const Share& s : shares) {
      if (!keeping(s)) continue;
      const RowTensors& rows = w.kept[at++];
      window_of(*s.item)->append(l, w.outgoing.on_host(rows.k), w.outgoing.on_host(rows.v));
    }
  });
  for (std::int64_t l = 0; l < layers; ++l) {
    std::size_t at = static_cast<std::size_t>(l) * asking;
    for (const Share& s : shares)
      if (scouting(s)) s.item->scout->keep(l, on_host(w, w.outgoing, w.scouts[at++]), w.weights());
  }
}

}  // namespace

void read_pass(Workspace& w, std::span<const ReadItem> batch, Adapter adapter, const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  std::int64_t rows = 0;
  const std::span<const Share> shares = stack_rows(w, batch, rows);
  if (rows == 0) return;
  prepare(w, shares, rows);
  // Prompts are computed in one way, whatever stands beside them; tokens that are alone in a pass in the most
  // exact one.
  const bool prompts = std::any_of(shares.begin(), shares.end(), [](const Share& s) { return s.T > 1; });
  const PassKind kind{adapter, prompts ? kernels::Rows::batched : kernels::Rows::few};
  const bool all_scout =
      std::all_of(batch.begin(), batch.end(), [](const ReadItem& item) { return item.scout != nullptr; });

  const Activations a = w.rows(rows);
  for (const Share& s : shares)
    kernels::embed(w.queue(), a.x.rows(s.at, s.T), w.weights().embedding, s.item->tokens);  // [rows,d]
  for (std::int64_t l = 0; l < c.layers; ++l) {
    for (const ReadItem& item : batch) end_if_stopped(item.stop);
    const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
    tap_hidden(w, a.x, shares, l);
    kernels::rms_norm(w.queue(), a.xn, a.x, layer.attention_norm, c.norm_epsilon);  // [rows,d]
    project(w, a.xn, {{a.q, &layer.q}, {a.k, &layer.k}, {a.v, &layer.v}},
            kind);  // [rows,H·e], [rows,G·e] twice
    require_finite_attention(w, l, a.q, a);
    attend_shares(w, a, shares, l, adapter);    // [rows,H·e]
    if (all_scout && l + 1 == c.layers) break;  // their queries were the last thing asked for
    finish_layer(w, layer, a.x, a.o, kind);     // [rows,d]
  }
  w.outgoing.bring(w.queue());
  emit_logits(w, a.x, shares, sink);
  end_checks(w);
  w.queue().wait();
  hand_over(w, shares);
  for (const Share& s : shares) {
    if (s.item->scout) {
      s.item->cache->set_scouted();
      continue;
    }
    s.item->cache->set_assembled();
    if (s.item->window) s.item->window->commit(s.T);
  }
}

ScoutStates scout_pass(Workspace& w, const ReadItem& item, Adapter adapter) {
  ScoutStates states;
  ReadItem scout = item;
  scout.scout = &states;
  read_pass(w, {&scout, 1}, adapter, nullptr);
  return states;
}

}  // namespace mplus::model
