#include "mplus/model/write_shares.h"

#include <vector>

#include "mplus/kernels/activation.h"
#include "mplus/kernels/attention.h"
#include "mplus/kernels/embedding.h"
#include "mplus/kernels/rows.h"

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
  w.attend_items.clear();
  std::vector<kernels::RowAppend> appends;
  for (const WriteShare& s : shares) {
    const Tensor q = a.q.rows(s.active_at, s.active());
    kernels::rope(w.queue(), q, w.rope(), s.cached() - s.active());
    w.attend_items.push_back({a.o.rows(s.active_at, s.active()), q,
                              kernels::KvCache{all.keys.part(1, s.cache_at, s.cached()),
                                               all.values.part(1, s.cache_at, s.cached()), 0}});
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const WriteShare& s = shares[i];
    const auto append = [&](ConstTensor k, ConstTensor v) {
      appends.push_back({&w.attend_items[i].cache, {k, v}});
    };
    append(w.bos_k(layer, Adapter::write), w.bos_v(layer, Adapter::write));
    append(a.k.rows(s.context_at, s.context()), a.v.rows(s.context_at, s.context()));
    append(a.k.rows(s.active_at, s.active()), a.v.rows(s.active_at, s.active()));
  }
  kernels::append_rows(w.queue(), appends, shape, w.rope());
  kernels::attend(w.queue(), w.attend_items, shape);
}

}  // namespace mplus::model
