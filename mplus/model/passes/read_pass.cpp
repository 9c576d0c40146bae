#include "mplus/model/passes/read_pass.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/kernels/attention/attention.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/linear.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/parallel.h"
#include "mplus/kernels/rows/choose.h"
#include "mplus/kernels/rows/embedding.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/tokens.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/model/passes/assemble.h"
#include "mplus/model/passes/scouts.h"

namespace mplus::model {
namespace {

using Share = ReadShare;

std::int64_t end_of(const Workspace& w, const ReadItem& item) {
  return item.until_layer.value_or(w.weights().config.layers);
}

// Those that end early stand behind the others, so that the rows that go on are the first ones.
std::span<const Share> stack_rows(Workspace& w, std::span<const ReadItem> batch, std::int64_t& rows) {
  w.read_shares.clear();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ReadItem& item = batch[i];
    MPLUS_CHECK(!item.until_layer || (!item.memory && !item.window && !item.scout),
                "a part of a pass over a memory");
    w.read_shares.push_back({.item = &item, .place = i, .T = std::ssize(item.tokens)});
  }
  const auto goes_on_longer = [&](const Share& a, const Share& b) {
    return end_of(w, *a.item) > end_of(w, *b.item);
  };
  if (!std::ranges::is_sorted(w.read_shares, goes_on_longer))
    std::ranges::stable_sort(w.read_shares, goes_on_longer);
  rows = 0;
  for (Share& share : w.read_shares) {
    share.at = rows;
    rows += share.T;
  }
  return w.read_shares;
}

// Without those that end in front of layer l.
std::span<const Share> going_on(const Workspace& w, std::span<const Share> shares, std::int64_t l) {
  while (!shares.empty() && end_of(w, *shares.back().item) <= l) shares = shares.first(shares.size() - 1);
  return shares;
}

std::int64_t rows_of(std::span<const Share> shares) {
  return shares.empty() ? 0 : shares.back().at + shares.back().T;
}

// Rows a read may have in front of its own tokens, at most.
std::int64_t prefix_rows(const ReadItem& item) {
  std::int64_t rows = item.window ? item.window->size() : 0;
  if (item.memory) rows += 1 + item.memory->layout().K0 + item.memory->layout().N;
  return rows;
}

// The window that gets the item's tokens; null: none does.
memory::WindowRows* window_of(const ReadItem& item) { return item.scout ? nullptr : item.window; }

// The tokens' own keys and values, in the precision the window keeps, and their queries.
kernels::TokenRows tokens_of(Workspace& w, const Activations& a, const Share& s, std::int64_t l) {
  kernels::TokenRows rows{.cache = s.item->cache->layer(l),
                          .q = a.q.rows(s.at, s.T),
                          .k = a.k.rows(s.at, s.T),
                          .v = a.v.rows(s.at, s.T)};
  if (const memory::WindowRows* window = window_of(*s.item)) {
    rows.kept_k = w.outgoing.piece(window->dtype(), {s.T, rows.k.size(1)});
    rows.kept_v = w.outgoing.piece(window->dtype(), {s.T, rows.v.size(1)});
    w.kept.push_back({.k = rows.kept_k, .v = rows.kept_v});
  }
  return rows;
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

bool is_tapped(const ReadItem& item) { return item.taps && item.taps->queries; }

bool recalls(const ReadItem& item) {
  return !item.cache->assembled() && item.recall && item.recall->wants_queries();
}

// Whether all it asks with are the retriever's queries, on the device.
bool asks_there(Workspace& w, const ReadItem& item) {
  return recalls(item) && !item.scout && !is_tapped(item) && !item.recall->wants_attention() &&
         item.recall->asks_on_device() && !w.queue().device().is_cpu();
}

// What a layer's tokens ask, are and say, made once. Where nobody else needs it before, a share that asks on
// the device does so first, and this is made while the host chooses its rows.
class TokenProjection {
 public:
  TokenProjection(Workspace& w, const Activations& a, const Layer& layer, PassKind kind)
      : w_(w), a_(a), layer_(layer), kind_(kind) {}
  TokenProjection(const TokenProjection&) = delete;
  TokenProjection& operator=(const TokenProjection&) = delete;
  void make() {
    if (std::exchange(made_, true)) return;
    project(w_, a_.xn, {{a_.q, &layer_.q}, {a_.k, &layer_.k}, {a_.v, &layer_.v}},
            kind_);  // [rows,H·e], [rows,G·e] twice
  }
  const std::function<void()>& later() const { return later_; }

 private:
  Workspace& w_;
  const Activations& a_;
  const Layer& layer_;
  PassKind kind_;
  bool made_ = false;
  std::function<void()> later_ = [this] { make(); };
};

// What stands in front of the share's tokens, and what its scouts ask.
void prepare_cache(Workspace& w, const Activations& a, const Share& s, std::int64_t l, Adapter adapter,
                   const TokenProjection& projection) {
  const ReadItem& item = *s.item;
  const bool tapped = is_tapped(item), recalling = recalls(item);
  memory::LayerQueries queries;
  const bool attention = tapped || (recalling && item.recall->wants_attention());
  if (asks_there(w, item)) {
    queries = ask_there(w, a, s, l);
    queries.meanwhile = &projection.later();
  } else if (tapped || (recalling && !item.scout)) {
    queries = ask_now(w, a, s, l, attention ? Asked::retriever_and_attention : Asked::retriever);
  }
  if (tapped) item.taps->queries(l, queries);
  if (item.scout) w.scouts.push_back(ask(w, w.outgoing, a, s, l, Asked::retriever));
  if (!item.cache->assembled()) assemble(w, item, l, queries, adapter);
}

// Whether queries have to be known to be finite before they are rotated: somebody asks with them, or the
// processor, which is told at once.
bool looks_ahead(Workspace& w, std::span<const Share> shares) {
  return w.queue().device().is_cpu() ||
         std::any_of(shares.begin(), shares.end(), [](const Share& s) { return recalls(*s.item); });
}

// Whether a share asks on the device and none before it is asked about anything else.
bool asks_first(Workspace& w, std::span<const Share> shares) {
  const auto needs = [&](const Share& s) { return recalls(*s.item) || is_tapped(*s.item) || s.item->scout; };
  const auto first = std::find_if(shares.begin(), shares.end(), needs);
  return first != shares.end() && asks_there(w, *first->item) && std::none_of(first + 1, shares.end(), needs);
}

void attend_shares(Workspace& w, const Activations& a, std::span<const Share> shares, std::int64_t l,
                   Adapter adapter, TokenProjection& projection) {
  const bool ahead = looks_ahead(w, shares), later = asks_first(w, shares);
  if (!later) projection.make();
  if (ahead && !later) require_finite_attention(w, l, a.q, a);
  w.attend_items.clear();
  w.token_rows.clear();
  for (const Share& s : shares) {
    prepare_cache(w, a, s, l, adapter, projection);
    w.token_rows.push_back(tokens_of(w, a, s, l));
  }
  projection.make();
  if (ahead && later) require_finite_attention(w, l, a.q, a);
  const std::int32_t note = ahead ? kernels::kNoNote : expect_finite_attention(w, l);
  kernels::append_tokens(w.queue(), w.token_rows, w.kv_shape(), w.rope(), note);
  for (const Share& s : shares) {
    kernels::KvCache& cache = s.item->cache->layer(l);
    cache.rows += s.T;
    tap_attention(w, a, s, l);
    // Scouts look at what stands behind the room in front.
    const std::int64_t front = s.item->scout ? s.item->cache->front_rows(l) : 0;
    w.attend_items.push_back(
        {.out = a.o.rows(s.at, s.T), .q = a.q.rows(s.at, s.T), .cache = kernels::behind(cache, front)});
  }
  kernels::attend(w.queue(), w.attend_items, w.kv_shape());
  for (const Share& s : shares)
    if (s.item->scout) s.item->cache->layer(l).rows -= s.T;
}

std::int64_t first_with_logits(const Share& s) {
  return s.item->scout ? s.T : std::max<std::int64_t>(0, s.item->logits_from);
}

struct WantedLogits {
  struct Place {
    std::size_t item;
    std::int64_t token;
  };
  Place list[Workspace::kLogitRows];
  std::int64_t count = 0;
};

// Where the item lets its next token be chosen, its logits stay where they are.
void hand_out(Workspace& w, const Tensor& normed, std::span<const Share> shares, const WantedLogits& wanted,
              const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  const std::int64_t n = wanted.count;
  Choice choices[Workspace::kLogitRows];
  ChosenToken* chosen[Workspace::kLogitRows] = {};
  std::int64_t choosing = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto& [item, token] = wanted.list[i];
    if (token + 1 == shares[item].T) chosen[i] = shares[item].item->chosen;
    if (!chosen[i]) continue;
    choices[i] = chosen[i]->choice;
    ++choosing;
  }
  w.logits.begin(w.queue(), w.host_pool,
                 kernels::Outgoing::piece_bytes(DType::f32, Workspace::kLogitRows * c.vocab));
  w.chosen.begin(w.queue(), w.host_pool, kernels::Outgoing::piece_bytes(DType::i64, Workspace::kLogitRows));
  const Tensor logits = w.logits.piece(DType::f32, {n, c.vocab}), tokens = w.chosen.piece(DType::i64, {n});
  kernels::linear(w.queue(), logits, normed.rows(0, n), w.weights().head);
  require_finite(w, -1, "logits", logits);
  if (choosing > 0) {
    kernels::choose(w.queue(), tokens, logits, {choices, static_cast<std::size_t>(n)});
    w.chosen.bring(w.queue());
  }
  if (choosing < n) w.logits.bring(w.queue());
  end_checks(w);
  w.queue().wait();
  const ConstTensor rows = w.logits.on_host(logits), ids = w.chosen.on_host(tokens);
  for (std::int64_t i = 0; i < n; ++i) {
    if (chosen[i]) chosen[i]->id = static_cast<TokenId>(ids.on_host<std::int64_t>()[i]);
    else
      sink(shares[wanted.list[i].item].place, wanted.list[i].token,
           {rows.row(i).on_host<float>(), static_cast<std::size_t>(c.vocab)});
  }
}

void emit_logits(Workspace& w, ConstTensor x, std::span<const Share> shares, const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  WantedLogits wanted;
  const Tensor normed = w.rows(Workspace::kLogitRows).xn;
  std::int64_t& n = wanted.count;
  const auto flush = [&] {
    hand_out(w, normed, shares, wanted, sink);
    n = 0;
  };
  for (const Share& s : shares)  // of all, before anybody gets any
    if (const std::int64_t first = first_with_logits(s); first < s.T)
      require_finite(w, -1, "hidden states", x.rows(s.at + first, s.T - first));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (std::int64_t t = first_with_logits(shares[i]); t < shares[i].T; ++t) {
      kernels::rms_norm(w.queue(), normed.rows(n, 1), x.rows(shares[i].at + t, 1), w.weights().final_norm,
                        c.norm_epsilon);
      wanted.list[n++] = {i, t};
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
  if (w.outgoing.device_memory().use_count() > 2) w.outgoing = {};  // somebody still looks at the last pass's
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
    if (s.item->taps && s.item->taps->hidden && s.item->taps->hidden_layer.value_or(l) == l)
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
  std::int64_t asked = 0;
  for (const ScoutTensors& scout : w.scouts) asked += scout.retriever.elements();
  for (const Share& s : shares) {
    if (!scouting(s)) continue;
    s.item->scout->begin(w.weights());
    s.item->scout->on_device = w.outgoing.device_memory();
  }
  kernels::parallel(w.queue(), asking > 0 ? layers : 0, asked, [&](std::int64_t l, int) {
    std::size_t at = static_cast<std::size_t>(l) * asking;
    for (const Share& s : shares)
      if (scouting(s)) s.item->scout->keep(l, on_host(w, w.outgoing, w.scouts[at++]), w.weights());
  });
}

// Prompts are computed in one way, whatever stands beside them; short ones in another where that is faster,
// and tokens that are alone in a pass in the most exact one.
kernels::Rows kind_of(Workspace& w, std::span<const Share> shares) {
  std::int64_t longest = 0;
  for (const Share& s : shares) {
    if (s.item->as_long) return kernels::Rows::batched;
    longest = std::max(longest, s.T);
  }
  if (longest <= 1) return kernels::Rows::few;
  return longest <= w.short_rows() ? kernels::Rows::some : kernels::Rows::batched;
}

}  // namespace

void read_pass(Workspace& w, std::span<const ReadItem> batch, Adapter adapter, const LogitsSink& sink) {
  const io::ModelConfig& c = w.weights().config;
  std::int64_t rows = 0;
  const std::span<const Share> all = stack_rows(w, batch, rows);
  if (rows == 0) return;
  prepare(w, all, rows);
  const PassKind kind{adapter, kind_of(w, all)};
  const bool all_scout =
      std::all_of(batch.begin(), batch.end(), [](const ReadItem& item) { return item.scout != nullptr; });

  Activations a = w.rows(rows);
  std::span<const Share> shares = all;
  for (const Share& s : shares)
    kernels::embed(w.queue(), a.x.rows(s.at, s.T), w.weights().embedding, s.item->tokens);  // [rows,d]
  for (std::int64_t l = 0; l < c.layers; ++l) {
    for (const ReadItem& item : batch) end_if_stopped(item.stop);
    const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
    tap_hidden(w, a.x, shares, l);
    shares = going_on(w, shares, l);
    if (shares.empty()) break;
    a = w.rows(rows_of(shares));
    kernels::rms_norm(w.queue(), a.xn, a.x, layer.attention_norm, c.norm_epsilon);  // [rows,d]
    TokenProjection projection(w, a, layer, kind);
    attend_shares(w, a, shares, l, adapter, projection);  // [rows,H·e]
    if (all_scout && l + 1 == c.layers) break;            // their queries were the last thing asked for
    finish_layer(w, layer, a.x, a.o, kind);               // [rows,d]
  }
  w.outgoing.bring(w.queue());
  emit_logits(w, a.x, shares, sink);
  end_checks(w);
  w.queue().wait();
  hand_over(w, shares);
  for (const Share& s : all) {
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
