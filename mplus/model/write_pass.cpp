#include "mplus/model/write_pass.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/activation.h"
#include "mplus/kernels/attention.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/embedding.h"
#include "mplus/kernels/norm.h"
#include "mplus/kernels/rows.h"
#include "mplus/kernels/transfer.h"

namespace mplus::model {
namespace {

constexpr PassKind kWrite{Adapter::write, kernels::Rows::batched};

// One session's rows among the stacked ones. Queried rows ("active") of all sessions come first, so that the
// second half of a layer works on one matrix; tail rows that only supply keys and values ("context") stand
// behind them.
struct Share {
  const memory::Memory* memory;
  std::int64_t tail;     // t
  std::int64_t tokens;   // T
  std::int64_t written;  // n = min(K, t + T)
  std::int64_t extra;    // tail rows that are queried too, because T < K
  std::int64_t active_at = 0, context_at = 0;

  std::int64_t active() const { return extra + tokens; }
  std::int64_t context() const { return tail - extra; }
  // The same in a layer without a memory: the chunk alone, as if nothing had been written yet.
  Share without_tail() const {
    return {.memory = memory,
            .tail = 0,
            .tokens = tokens,
            .written = std::min(written, tokens),
            .extra = 0,
            .active_at = active_at + extra};
  }
};

}  // namespace

struct WritePass::Stack {
  Stack(const Workspace& w, std::span<const WriteItem> batch);

  std::vector<Share> shares;
  std::vector<Share> plain;  // the same in layers without a memory
  std::int64_t active = 0;
  std::int64_t rows = 0;
};

WritePass::Stack::Stack(const Workspace& w, std::span<const WriteItem> batch) {
  const std::int64_t K = w.weights().memory->K;
  for (const WriteItem& item : batch) {
    MPLUS_CHECK(!item.chunk.empty(), "a chunk has at least one token");
    Share s{.memory = item.memory,
            .tail = item.memory->tail_rows(),
            .tokens = static_cast<std::int64_t>(item.chunk.size()),
            .written = 0,
            .extra = 0};
    s.written = std::min(K, s.tail + s.tokens);
    s.extra = std::max<std::int64_t>(0, s.written - s.tokens);
    s.active_at = active;
    active += s.active();
    shares.push_back(s);
  }
  rows = active;
  for (Share& s : shares) {
    s.context_at = rows;
    rows += s.context();
    plain.push_back(s.without_tail());
  }
}

namespace {

void embed_chunks(Workspace& w, Tensor x, std::span<const Share> shares, std::span<const WriteItem> batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Share& s = shares[i];
    kernels::fill(w.queue(), x.rows(s.active_at, s.extra), 0.0f);  // until a layer with a tail comes
    kernels::embed(w.queue(), x.rows(s.active_at + s.extra, s.tokens), w.weights().embedding, batch[i].chunk);
  }
}

// Rows of [tail ; x] at this depth, the positional vector added to the last n of them.
void place_tail(Workspace& w, Tensor x, std::span<const Share> shares, std::int64_t layer) {
  for (const Share& s : shares) {
    const Tensor context = x.rows(s.context_at, s.context()), extra = x.rows(s.active_at, s.extra);
    if (s.tail > 0 && s.memory) {
      const ConstTensor tail = s.memory->tail_near(x.device, layer);
      kernels::copy(w.queue(), context, tail.rows(0, s.context()));
      kernels::copy(w.queue(), extra, tail.rows(s.context(), s.extra));
    } else {  // of an item that left, rows of zeros hold the place
      kernels::fill(w.queue(), context, 0.0f);
      kernels::fill(w.queue(), extra, 0.0f);
    }
    kernels::add_row(w.queue(), x.rows(s.active_at + s.active() - s.written, s.written),
                     w.weights().positional);
  }
}

// Attention of one session's active rows over [bos ; context ; active], positions from 0 over that list.
void attend_share(Workspace& w, const Activations& a, const Share& s, std::int64_t layer) {
  const kernels::KvShape shape = w.kv_shape();
  const std::int64_t rows = 1 + s.tail + s.tokens;
  kernels::KvCache cache = w.chunk_cache(rows);
  const auto append = [&](ConstTensor k, ConstTensor v) {
    kernels::append_rows(w.queue(), cache, shape, {k, v}, w.rope());
  };
  append(w.bos_k(layer, Adapter::write), w.bos_v(layer, Adapter::write));
  append(a.k.rows(s.context_at, s.context()), a.v.rows(s.context_at, s.context()));
  append(a.k.rows(s.active_at, s.active()), a.v.rows(s.active_at, s.active()));
  const Tensor q = a.q.rows(s.active_at, s.active());
  kernels::rope(w.queue(), q, w.rope(), rows - s.active());
  kernels::attend(w.queue(), a.o.rows(s.active_at, s.active()), q, cache, shape);
}

}  // namespace

WritePass::WritePass(Workspace& w, std::span<const WriteItem> batch)
    : w_(&w), stack_(std::make_unique<Stack>(w, batch)), written_(batch.size()) {
  const io::ModelConfig& c = w.weights().config;
  const LayerSet& remembering = w.weights().memory->layers;
  highest_ = remembering.layer(remembering.count(c.layers) - 1);
  residual_ = w.queue().backend().allocate(row_bytes(DType::f32, stack_->rows * c.hidden));
  x_ = residual_.tensor(DType::f32, {stack_->rows, c.hidden});
  const std::int64_t layers = remembering.count(c.layers);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    WrittenRows& written = written_[i];
    written.n = stack_->shares[i].written;
    written.room.begin(
        w.queue(), w.host_pool,
        static_cast<std::size_t>(layers) * kernels::Outgoing::piece_bytes(DType::f32, written.n * c.hidden));
    written.hidden.reserve(static_cast<std::size_t>(layers));
    stops_.push_back(batch[i].stop);
  }
  embed_chunks(w, x_, stack_->shares, batch);
}

WritePass::~WritePass() = default;

void WritePass::leave(std::size_t item) {
  stack_->shares[item].memory = stack_->plain[item].memory = nullptr;
  stops_[item] = nullptr;
}

bool WritePass::advance(std::int64_t layers) {
  w_->reserve(stack_->rows);
  for (const Share& s : stack_->shares) w_->reserve_positions(1 + s.tail + s.tokens);
  failed_ = true;  // where anything below throws
  begin_checks(*w_);
  for (; layers > 0 && !done(); --layers) {
    for (const StopFlag stop : stops_) end_if_stopped(stop);
    run_layer(next_++);
  }
  if (done())
    for (WrittenRows& written : written_) written.room.bring(w_->queue());
  end_checks(*w_);
  w_->queue().wait();
  failed_ = false;
  return done();
}

void WritePass::run_layer(std::int64_t l) {
  Workspace& w = *w_;
  const io::ModelConfig& c = w.weights().config;
  const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
  const bool remembers = w.weights().memory->layers.contains(l);
  const std::span<const Share> shares = remembers ? stack_->shares : stack_->plain;
  const std::int64_t active = stack_->active, rows = remembers ? stack_->rows : active;
  const Activations a = w.rows(rows);
  const Tensor x = x_.rows(0, rows), q = a.q.rows(0, active), o = a.o.rows(0, active);
  place_tail(w, x_, shares, l);                                                 // [rows,d]
  kernels::rms_norm(w.queue(), a.xn, x, layer.attention_norm, c.norm_epsilon);  // [rows,d]
  project(w, a.xn.rows(0, active), {{q, &layer.q}}, kWrite);                    // [active,H·e]
  project(w, a.xn, {{a.k, &layer.k}, {a.v, &layer.v}}, kWrite);                 // [rows,G·e] twice
  require_finite_attention(w, l, q, a);
  for (const Share& s : shares) attend_share(w, a, s, l);  // [active,H·e]
  finish_layer(w, layer, x.rows(0, active), o, kWrite);    // [active,d]
  if (!remembers) return;
  for (std::size_t i = 0; i < written_.size(); ++i) {
    const Share& s = stack_->shares[i];
    const ConstTensor rows_written = x.rows(s.active_at + s.active() - s.written, s.written);
    require_finite(w, l, "hidden states", rows_written);
    const Tensor kept = written_[i].room.piece(DType::f32, {s.written, c.hidden});  // [n,d]
    kernels::copy(w.queue(), kept, rows_written);
    written_[i].hidden.push_back(kept);
  }
}

std::vector<WrittenRows> write_pass(Workspace& w, std::span<const WriteItem> batch) {
  WritePass pass(w, batch);
  pass.advance(w.weights().config.layers);
  std::vector<WrittenRows> written;
  for (std::size_t i = 0; i < batch.size(); ++i) written.push_back(pass.take(i));
  return written;
}

namespace {

// What memory keeps of n rows of one layer, in pieces of `room`.
struct Kept {
  Tensor k, v, key;
};

std::size_t kept_bytes(const Workspace& w, std::int64_t n, DType dtype) {
  const kernels::KvShape shape = w.kv_shape();
  return 2 * kernels::Outgoing::piece_bytes(dtype, n * shape.groups * shape.head_size) +
         kernels::Outgoing::piece_bytes(dtype, n * w.weights().memory->d_r);
}

Kept project_layer(Workspace& w, kernels::Outgoing& room, std::int64_t layer, ConstTensor hidden,
                   const PassKind& kind, DType dtype) {
  const Layer& weights = w.weights().layers[static_cast<std::size_t>(layer)];
  w.reserve(hidden.size(0));
  const Activations a = w.rows(hidden.size(0));
  kernels::rms_norm(w.queue(), a.xn, hidden, weights.attention_norm, w.weights().config.norm_epsilon);
  project(w, a.xn, {{a.k, &weights.k}, {a.v, &weights.v}}, kind);
  if (weights.key.empty()) kernels::fill(w.queue(), a.query, 0.0f);
  else retriever_project(w, a.query, a.xn, weights.key, kind.rows);
  require_finite(w, layer, "keys of a memory", a.k);
  require_finite(w, layer, "values of a memory", a.v);
  require_finite(w, layer, "retriever keys", a.query);
  const auto keep = [&](const Tensor& x) {
    const Tensor piece = room.piece(dtype, {x.size(0), x.size(1)});
    kernels::copy(w.queue(), piece, x);
    return piece;
  };
  return {keep(a.k), keep(a.v), keep(a.query)};
}

void bring(Workspace& w, kernels::Outgoing& room) {
  room.bring(w.queue());
  end_checks(w);
  w.queue().wait();
}

}  // namespace

ProjectedRows project_rows(Workspace& w, std::int64_t layer, ConstTensor hidden, Adapter adapter) {
  begin_checks(w);
  const kernels::OnDevice states(w.queue(), hidden);
  kernels::Outgoing room;
  room.begin(w.queue(), w.host_pool, kept_bytes(w, hidden.size(0), DType::f32));
  const Kept kept =
      project_layer(w, room, layer, states.tensor(), {adapter, kernels::Rows::batched}, DType::f32);
  bring(w, room);
  const auto values = [&](const Tensor& piece) {
    const float* first = room.on_host(piece).on_host<float>();
    return AlignedVector<float>(first, first + piece.elements());
  };
  return {values(kept.k), values(kept.v), values(kept.key)};
}

ChunkRows::ChunkRows(Workspace& w, const WrittenRows& written, DType dtype) {
  constexpr PassKind kRead{Adapter::read, kernels::Rows::batched};
  begin_checks(w);
  const std::size_t layers = written.hidden.size();
  room_.begin(w.queue(), w.host_pool, layers * kept_bytes(w, written.n, dtype));
  std::vector<Kept> kept;
  for (std::size_t place = 0; place < layers; ++place) {
    const std::int64_t l = w.weights().memory->layers.layer(static_cast<std::int64_t>(place));
    kept.push_back(project_layer(w, room_, l, written.hidden[place], kRead, dtype));
  }
  bring(w, room_);
  const auto values = [&](const Tensor& piece) { return room_.on_host(piece).data; };
  for (std::size_t place = 0; place < layers; ++place)
    rows_.push_back({.hidden = written.on_host(place).on_host<float>(),
                     .k = values(kept[place].k),
                     .v = values(kept[place].v),
                     .key = values(kept[place].key),
                     .n = written.n,
                     .dtype = dtype,
                     .hidden_memory = written.room.host_memory(),
                     .hidden_on_device = written.room.is_copied() ? written.hidden[place] : ConstTensor(),
                     .device_memory = written.room.device_memory()});
}

void inject(Workspace& w, std::span<const Injection> batch) {
  std::vector<WriteItem> items;
  items.reserve(batch.size());
  for (const Injection& i : batch) items.push_back({i.chunk, i.memory, i.stop});
  const std::vector<WrittenRows> written = write_pass(w, items);
  std::vector<ChunkRows> rows;
  rows.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i)
    rows.emplace_back(w, written[i], batch[i].memory->layout().dtype);
  // Nothing fails from here on: all memories change, or none.
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i].memory->update(rows[i].layers(), batch[i].drops);
}

}  // namespace mplus::model
