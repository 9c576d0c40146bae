#include "mplus/model/passes/write_pass.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/model/passes/kept_rows.h"
#include "mplus/model/passes/write_shares.h"

namespace mplus::model {
namespace {

constexpr std::ptrdiff_t kBroughtTogether = 8;  // layers whose rows go to the host in one copy
constexpr PassKind kWrite{Adapter::write, kernels::Rows::batched};

}  // namespace

struct WritePass::Stack {
  Stack(const Workspace& w, std::span<const WriteItem> batch);

  std::vector<WriteShare> shares;
  std::vector<WriteShare> plain;  // the same in layers without a memory
  std::int64_t active = 0, rows = 0, written = 0, cached = 0;
  DType dtype = DType::f32;  // of the memories
  // Of each item, hidden states of the layers that keep a memory, [layers, written, d]; on the host too where
  // its memory keeps them (nothing on the processor, where that is the same).
  std::vector<std::shared_ptr<Buffer>> hidden, hidden_on_host;

  Tensor states(std::size_t item, std::int64_t place, std::int64_t width, bool on_host = false) const {
    const Buffer& buffer = on_host ? *hidden_on_host[item] : *hidden[item];
    const std::int64_t n = shares[item].written;
    return buffer.tensor(DType::f32, {(place + 1) * n, width}).rows(place * n, n);
  }
};

WritePass::Stack::Stack(const Workspace& w, std::span<const WriteItem> batch) {
  const std::int64_t K = w.weights().memory->K;
  dtype = batch.front().memory->layout().dtype;
  for (const WriteItem& item : batch) {
    MPLUS_CHECK(!item.chunk.empty(), "a chunk has at least one token");
    MPLUS_CHECK(item.memory->layout().dtype == dtype, "memories of {} and {} in one pass",
                dtype_name(item.memory->layout().dtype), dtype_name(dtype));
    WriteShare s{.memory = item.memory,
                 .tail = item.memory->tail_rows(),
                 .tokens = static_cast<std::int64_t>(item.chunk.size()),
                 .written = 0,
                 .extra = 0};
    s.written = std::min(K, s.tail + s.tokens);
    s.extra = std::max<std::int64_t>(0, s.written - s.tokens);
    s.active_at = active;
    active += s.active();
    s.written_at = written;
    written += s.written;
    s.cache_at = cached;
    cached += s.cached();
    shares.push_back(s);
  }
  rows = active;
  for (WriteShare& s : shares) {
    s.context_at = rows;
    rows += s.context();
    plain.push_back(s.without_tail());
  }
}

namespace {

std::size_t kept_bytes(const Workspace& w, std::int64_t n, DType dtype) {
  const kernels::KvShape shape = w.kv_shape();
  return 2 * kernels::Outgoing::piece_bytes(dtype, n * shape.groups * shape.head_size) +
         kernels::Outgoing::piece_bytes(dtype, n * w.weights().memory->d_r);
}

// Where the processor computes these are given out again; a device gives its own memory fast.
std::shared_ptr<Buffer> room_for_states(Workspace& w, std::size_t size_bytes) {
  if (w.queue().device().is_cpu()) return w.host_pool.take(w.queue(), size_bytes);
  return std::make_shared<Buffer>(w.queue().backend().allocate(size_bytes));
}

}  // namespace

WritePass::WritePass(Workspace& w, std::span<const WriteItem> batch)
    : w_(&w), stack_(std::make_unique<Stack>(w, batch)) {
  const io::ModelConfig& c = w.weights().config;
  const LayerSet& remembering = w.weights().memory->layers;
  const std::int64_t layers = remembering.count(c.layers);
  highest_ = remembering.layer(layers - 1);
  residual_ = w.queue().backend().allocate(row_bytes(DType::f32, stack_->rows * c.hidden));
  x_ = residual_.tensor(DType::f32, {stack_->rows, c.hidden});
  room_.begin(w.queue(), w.host_pool,
              static_cast<std::size_t>(layers) * kept_bytes(w, stack_->written, stack_->dtype));
  for (const WriteItem& item : batch) {
    const std::int64_t n = stack_->shares[stops_.size()].written;
    const std::size_t size_bytes = row_bytes(DType::f32, layers * n * c.hidden);
    const bool wanted = item.memory->layout().keep_hidden && !w.queue().device().is_cpu();
    stack_->hidden.push_back(room_for_states(w, size_bytes));
    stack_->hidden_on_host.push_back(wanted ? w.host_pool.take(w.queue(), size_bytes) : nullptr);
    stops_.push_back(item.stop);
  }
  together_ = std::make_unique<KeptRows>(w, stack_->written, KeptRows::worth_together(w, stack_->written));
  embed_chunks(w, x_, stack_->shares, batch);
}

// What is on its way to the host must not arrive in memory that is given back.
WritePass::~WritePass() {
  if (!failed_ && !under_way()) return;
  try {
    w_->queue().wait();
  } catch (const Error&) {  // nothing arrives any more
  }
}

void WritePass::leave(std::size_t item) {
  stack_->shares[item].memory = stack_->plain[item].memory = nullptr;
  stops_[item] = nullptr;
}

bool WritePass::advance(std::int64_t layers) {
  start(layers);
  return finish();
}

void WritePass::start(std::int64_t layers) {
  w_->reserve(stack_->rows);
  for (const WriteShare& s : stack_->shares) w_->reserve_positions(s.cached());
  failed_ = true;  // where anything below throws
  begin_checks(*w_);
  for (; layers > 0 && !done(); --layers) {
    for (const StopFlag stop : stops_) end_if_stopped(stop);
    run_layer(next_++);
  }
  if (done()) bring_written();
  checks_ = mark_checks(*w_);
  failed_ = false;
}

bool WritePass::finish() {
  failed_ = true;
  for (const WriteShare& s : stack_->shares)
    if (s.memory) s.memory->get_ready(s.written, &w_->queue().pool());
  end_checks(*w_, *checks_);
  checks_.reset();
  failed_ = false;
  return done();
}

void WritePass::run_layer(std::int64_t l) {
  Workspace& w = *w_;
  const io::ModelConfig& c = w.weights().config;
  const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
  const bool remembers = w.weights().memory->layers.contains(l);
  const std::span<const WriteShare> shares = remembers ? stack_->shares : stack_->plain;
  const std::int64_t active = stack_->active, rows = remembers ? stack_->rows : active;
  const Activations a = w.rows(rows);
  const Tensor x = x_.rows(0, rows), q = a.q.rows(0, active), o = a.o.rows(0, active);
  place_tail(w, x_, shares, l);  // [rows,d]
  kernels::rms_norm(w.queue(), a.xn, x, layer.attention_norm, c.norm_epsilon,
                    common_type({&layer.q, &layer.k, &layer.v}, kWrite.adapter));  // [rows,d]
  project(w, a.xn, {{q, &layer.q}, {a.k, &layer.k}, {a.v, &layer.v}},
          kWrite);                                       // [active,H·e], [rows,G·e] twice
  attend_shares(w, a, shares, l);                        // [active,H·e]
  finish_layer(w, layer, x.rows(0, active), o, kWrite);  // [active,d]
  if (remembers) keep_written(l, x);
}

// What the layer's written rows leave behind: their hidden states, for the next write, and normed ones, of
// which keys and values are made.
void WritePass::keep_written(std::int64_t l, Tensor x) {
  Workspace& w = *w_;
  const io::ModelConfig& c = w.weights().config;
  const Layer& layer = w.weights().layers[static_cast<std::size_t>(l)];
  const auto place = std::ssize(kept_) + std::ssize(pending_);
  const Tensor normed = together_->normed(pending_.size());
  std::vector<kernels::RowCopy> copies;
  for (std::size_t i = 0; i < items(); ++i) {
    const WriteShare& s = stack_->shares[i];
    const ConstTensor written = x.rows(s.active_at + s.active() - s.written, s.written);  // [n,d]
    copies.push_back({stack_->states(i, place, c.hidden), written});
    kernels::rms_norm(w.queue(), normed.rows(s.written_at, s.written), written, layer.attention_norm,
                      c.norm_epsilon);
  }
  kernels::copy(w.queue(), copies);
  pending_.push_back(l);
  if (std::ssize(pending_) == together_->most_layers() || l == highest_) project_pending();
}

// What memories keep of those layers, for all items, as they keep it.
void WritePass::project_pending() {
  Workspace& w = *w_;
  together_->project(pending_, Adapter::read);
  std::vector<Finite> checks;
  std::vector<kernels::RowCopy> copies;
  const auto keep = [&](const char* what, const Tensor& values, std::size_t i) {
    checks.push_back({pending_[i], what, values});
    const Tensor piece = room_.piece(stack_->dtype, {values.size(0), values.size(1)});
    copies.push_back({piece, values});
    return piece;
  };
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    for (std::size_t item = 0; item < items(); ++item)
      checks.push_back(
          {pending_[i], "hidden states", stack_->states(item, std::ssize(kept_), w.weights().config.hidden)});
    kept_.push_back({keep("keys of a memory", together_->k(i), i),
                     keep("values of a memory", together_->v(i), i),
                     keep("retriever keys", together_->key(i), i)});
  }
  require_finite(w, checks);
  kernels::copy(w.queue(), copies);
  if (std::ssize(kept_) % kBroughtTogether == 0) room_.bring_aside(w.queue());
  pending_.clear();
}

void WritePass::bring_written() {
  room_.bring_aside(w_->queue());
  for (std::size_t i = 0; i < items(); ++i) {
    if (!stack_->hidden_on_host[i]) continue;
    const std::int64_t n = std::ssize(kept_) * stack_->shares[i].written * w_->weights().config.hidden;
    kernels::copy(w_->queue(), stack_->hidden_on_host[i]->tensor(DType::f32, {n}),
                  stack_->hidden[i]->tensor(DType::f32, {n}));
  }
}

WrittenRows WritePass::take(std::size_t item) const {
  const WriteShare& s = stack_->shares[item];
  const std::int64_t d = w_->weights().config.hidden;
  const bool here = w_->queue().device().is_cpu(), on_host = stack_->hidden_on_host[item] != nullptr;
  const auto owners = std::make_shared<std::pair<std::shared_ptr<Buffer>, std::shared_ptr<Buffer>>>(
      stack_->hidden[item], stack_->hidden_on_host[item]);
  WrittenRows written{.width = d, .layers = {}, .memory = room_.device_memory()};
  for (std::int64_t place = 0; place < std::ssize(kept_); ++place) {
    const Kept& kept = kept_[static_cast<std::size_t>(place)];
    const Tensor states = stack_->states(item, place, d);
    const ConstTensor k = kept.k.rows(s.written_at, s.written), v = kept.v.rows(s.written_at, s.written),
                      key = kept.key.rows(s.written_at, s.written);
    memory::NewRows rows{.k = room_.on_host(k).data,
                         .v = room_.on_host(v).data,
                         .key = room_.on_host(key).data,
                         .n = s.written,
                         .dtype = stack_->dtype,
                         .hidden_memory = owners,
                         .memory = room_.host_memory()};
    if (here) rows.hidden = states.on_host<float>();
    if (on_host) rows.hidden = stack_->states(item, place, d, true).on_host<float>();
    if (!here) {
      rows.hidden_on_device = states;
      rows.k_on_device = k;
      rows.v_on_device = v;
      rows.key_on_device = key;
    }
    written.layers.push_back(std::move(rows));
  }
  return written;
}

std::vector<WrittenRows> write_pass(Workspace& w, std::span<const WriteItem> batch) {
  WritePass pass(w, batch);
  pass.advance(w.weights().config.layers);
  std::vector<WrittenRows> written;
  for (std::size_t i = 0; i < batch.size(); ++i) written.push_back(pass.take(i));
  return written;
}

ProjectedRows project_rows(Workspace& w, std::int64_t layer, ConstTensor hidden, Adapter adapter) {
  const Layer& weights = w.weights().layers[static_cast<std::size_t>(layer)];
  const kernels::OnDevice states(w.queue(), hidden);
  begin_checks(w);
  KeptRows kept(w, hidden.size(0), 1);
  kernels::rms_norm(w.queue(), kept.normed(0), states.tensor(), weights.attention_norm,
                    w.weights().config.norm_epsilon);
  kept.project({&layer, 1}, adapter);
  const Finite checks[] = {{layer, "keys of a memory", kept.k(0)},
                           {layer, "values of a memory", kept.v(0)},
                           {layer, "retriever keys", kept.key(0)}};
  require_finite(w, checks);
  end_checks(w);
  const auto values = [&](const Tensor& x) {
    const std::vector<float> all = kernels::to_host(w.queue(), x);
    return AlignedVector<float>(all.begin(), all.end());
  };
  return {values(kept.k(0)), values(kept.v(0)), values(kept.key(0))};
}

void inject(Workspace& w, std::span<const Injection> batch) {
  std::vector<WriteItem> items;
  items.reserve(batch.size());
  for (const Injection& i : batch) items.push_back({i.chunk, i.memory, i.stop});
  const std::vector<WrittenRows> written = write_pass(w, items);
  // Nothing fails from here on: all memories change, or none.
  for (std::size_t i = 0; i < batch.size(); ++i)
    batch[i].memory->update(written[i].layers, batch[i].drops, &w.queue());
}

}  // namespace mplus::model
