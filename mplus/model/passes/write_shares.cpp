#include "mplus/model/passes/write_shares.h"

#include <vector>

#include "mplus/kernels/attention/attention.h"
#include "mplus/kernels/linear/activation.h"
#include "mplus/kernels/rows/embedding.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::model {

void embed_chunks(Workspace& w, Tensor x, std::span<const WriteShare> shares,
                  std::span<const WriteItem> batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const WriteShare& s = shares[i];
    kernels::fill(w.queue(), x.rows(s.active_at, s.extra), 0.0f);  // until a layer with a tail comes
    kernels::embed(w.queue(), x.rows(s.active_at + s.extra, s.tokens), w.weights().embedding, batch[i].chunk);
  }
}

void place_tail(Workspace& w, Tensor x, std::span<const WriteShare> shares, std::int64_t layer) {
  const ConstTensor positional = w.weights().positional;
  std::vector<kernels::RowCopy> copies;
  for (const WriteShare& s : shares) {
    const Tensor context = x.rows(s.context_at, s.context()), extra = x.rows(s.active_at, s.extra);
    const std::int64_t of_chunk = std::min(s.written, s.tokens);  // the others are those of `extra`
    const Tensor written = x.rows(s.active_at + s.active() - of_chunk, of_chunk);
    if (s.tail > 0 && s.memory) {
      const ConstTensor tail = s.memory->tail_near(x.device, layer);
      if (tail.device == x.device) {
        copies.push_back({context, tail.rows(0, s.context())});
        if (s.extra > 0) copies.push_back({extra, tail.rows(s.context(), s.extra), positional});
        copies.push_back({written, written, positional});
        continue;
      }
      kernels::copy(w.queue(), context, tail.rows(0, s.context()));
      kernels::copy(w.queue(), extra, tail.rows(s.context(), s.extra));
    } else {  // of an item that left, rows of zeros hold the place
      kernels::fill(w.queue(), context, 0.0f);
      kernels::fill(w.queue(), extra, 0.0f);
    }
    if (s.extra > 0) copies.push_back({extra, extra, positional});
    copies.push_back({written, written, positional});
  }
  kernels::copy(w.queue(), copies);
}

void attend_shares(Workspace& w, const Activations& a, std::span<const WriteShare> shares,
                   std::int64_t layer) {
  const kernels::KvShape shape = w.kv_shape();
  const kernels::KvCache all = w.chunk_cache(shares.back().cache_at + shares.back().cached());
  const bool here = w.queue().device().is_cpu();  // which is told at once
  if (here)
    require_finite_attention(w, layer, a.q.rows(0, shares.back().active_at + shares.back().active()), a);
  const std::int32_t note = here ? kernels::kNoNote : expect_finite_attention(w, layer);
  w.attend_items.clear();
  w.token_rows.clear();
  for (const WriteShare& s : shares) {
    kernels::KvCache cache{all.keys.part(1, s.cache_at, s.cached()),
                           all.values.part(1, s.cache_at, s.cached()), 0};
    const auto append = [&](const Tensor& q, ConstTensor k, ConstTensor v) {
      if (k.size(0) > 0) w.token_rows.push_back({.cache = cache, .q = q, .k = k, .v = v});
      cache.rows += k.size(0);
    };
    const Tensor q = a.q.rows(s.active_at, s.active());
    append({}, w.bos_k(layer, Adapter::write), w.bos_v(layer, Adapter::write));
    append({}, a.k.rows(s.context_at, s.context()), a.v.rows(s.context_at, s.context()));
    append(q, a.k.rows(s.active_at, s.active()), a.v.rows(s.active_at, s.active()));
    w.attend_items.push_back({a.o.rows(s.active_at, s.active()), q, cache});
  }
  kernels::append_tokens(w.queue(), w.token_rows, shape, w.rope(), note);
  kernels::attend(w.queue(), w.attend_items, shape);
}

}  // namespace mplus::model
