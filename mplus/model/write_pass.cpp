#include "mplus/model/write_pass.h"

#include <algorithm>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/kernels/activation.h"
#include "mplus/kernels/attention.h"
#include "mplus/kernels/norm.h"

namespace mplus::model {
namespace {

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

void embed_chunks(const Workspace& w, float* x, std::span<const Share> shares,
                  std::span<const WriteItem> batch) {
  const std::int64_t d = w.weights().config.hidden;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Share& s = shares[i];
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const TokenId id = batch[i].chunk[static_cast<std::size_t>(t)];
      MPLUS_CHECK(id >= 0 && id < w.weights().config.vocab, "token {} of {}", id, w.weights().config.vocab);
      io::dequantise_row(x + (s.active_at + s.extra + t) * d, w.weights().embedding, id);
    }
    std::fill_n(x + s.active_at * d, s.extra * d, 0.0f);  // until a layer with a tail comes
  }
}

// Rows of [tail ; x] at this depth, the positional vector added to the last n of them.
void place_tail(Workspace& w, float* x, std::span<const Share> shares, std::int64_t layer) {
  const std::int64_t d = w.weights().config.hidden;
  for (const Share& s : shares) {
    // Of an item that left, rows of zeros hold the place.
    const float* tail = s.tail > 0 && s.memory ? s.memory->tail(layer).data() : nullptr;
    const auto copy = [&](std::int64_t to, std::int64_t from, std::int64_t rows) {
      if (rows == 0) return;
      if (tail) std::memcpy(x + to * d, tail + from * d, static_cast<std::size_t>(rows * d) * sizeof(float));
      else std::fill_n(x + to * d, rows * d, 0.0f);
    };
    copy(s.context_at, 0, s.context());
    copy(s.active_at, s.context(), s.extra);
    kernels::add_row(w.context(), x + (s.active_at + s.active() - s.written) * d, w.weights().positional,
                     s.written, d);
  }
}

// Attention of one session's active rows over [bos ; context ; active], positions from 0 over that list.
void attend_share(Workspace& w, const Share& s, std::int64_t layer) {
  const kernels::KvShape shape = w.kv_shape();
  const std::int64_t kv = shape.groups * shape.head_size;
  const std::int64_t rows = 1 + s.tail + s.tokens;
  const auto size = static_cast<std::size_t>(rows * kv);
  if (w.kv_keys.size() < size) {
    w.kv_keys.resize(size);
    w.kv_values.resize(size);
  }
  w.k_rows.resize(static_cast<std::size_t>(rows));
  w.v_rows.resize(static_cast<std::size_t>(rows));
  w.k_rows[0] = w.bos_k(layer, Adapter::write);
  w.v_rows[0] = w.bos_v(layer, Adapter::write);
  for (std::int64_t r = 0; r < s.tail + s.tokens; ++r) {
    const std::int64_t at = r < s.context() ? s.context_at + r : s.active_at + r - s.context();
    w.k_rows[static_cast<std::size_t>(1 + r)] = w.k.data() + at * kv;
    w.v_rows[static_cast<std::size_t>(1 + r)] = w.v.data() + at * kv;
  }
  kernels::KvCache cache{.keys = w.kv_keys.data(), .values = w.kv_values.data(), .rows = 0, .capacity = rows};
  kernels::append_rows(w.context(), cache, shape, DType::f32, w.k_rows.data(), w.v_rows.data(), rows,
                       w.rope(), 0);
  const std::int64_t at = s.active_at * shape.heads * shape.head_size;
  kernels::rope(w.context(), w.q.data() + at, s.active(), shape.heads, w.rope(), rows - s.active(), 0);
  kernels::attend(w.context(), w.o.data() + at, w.q.data() + at, s.active(), cache, shape);
}

}  // namespace

WritePass::WritePass(Workspace& w, std::span<const WriteItem> batch)
    : w_(&w), stack_(std::make_unique<Stack>(w, batch)), written_(batch.size()) {
  const io::ModelConfig& c = w.weights().config;
  const LayerSet& remembering = w.weights().memory->layers;
  highest_ = remembering.layer(remembering.count(c.layers) - 1);
  x_.resize(static_cast<std::size_t>(stack_->rows * c.hidden));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    written_[i].n = stack_->shares[i].written;
    written_[i].hidden.reserve(w.weights().layers.size());
    stops_.push_back(batch[i].stop);
  }
  embed_chunks(w, x_.data(), stack_->shares, batch);
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
  for (; layers > 0 && !done(); --layers) {
    for (const StopFlag stop : stops_) end_if_stopped(stop);
    run_layer(next_++);
  }
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
  float* x = x_.data();
  place_tail(w, x, shares, l);  // [rows,d]
  kernels::rms_norm(w.context(), w.xn.data(), x, layer.attention_norm, rows, c.hidden,
                    c.norm_epsilon);                                                // [rows,d]
  project(w, w.xn.data(), active, {{w.q.data(), &layer.q}}, Adapter::write, true);  // [active,H·e]
  project(w, w.xn.data(), rows, {{w.k.data(), &layer.k}, {w.v.data(), &layer.v}}, Adapter::write,
          true);  // [rows,G·e] twice
  require_finite_attention(w, l, active, rows);
  for (const Share& s : shares) attend_share(w, s, l);                  // [active,H·e]
  finish_layer(w, layer, x, w.o.data(), active, Adapter::write, true);  // [active,d]
  if (!remembers) return;
  for (std::size_t i = 0; i < written_.size(); ++i) {
    const Share& s = stack_->shares[i];
    const float* end = x + (s.active_at + s.active()) * c.hidden;
    const auto& hidden = written_[i].hidden.emplace_back(end - s.written * c.hidden, end);  // [n,d]
    require_finite(w, l, "hidden states", hidden.data(), std::ssize(hidden));
  }
}

std::vector<WrittenRows> write_pass(Workspace& w, std::span<const WriteItem> batch) {
  WritePass pass(w, batch);
  pass.advance(w.weights().config.layers);
  std::vector<WrittenRows> written;
  for (std::size_t i = 0; i < batch.size(); ++i) written.push_back(pass.take(i));
  return written;
}

ProjectedRows project_rows(Workspace& w, std::int64_t layer, const float* hidden, std::int64_t n,
                           Adapter adapter) {
  const io::ModelConfig& c = w.weights().config;
  const Layer& weights = w.weights().layers[static_cast<std::size_t>(layer)];
  const std::int64_t kv = c.kv_heads * c.head_size;
  const std::int64_t d_r = w.weights().memory->d_r;
  ProjectedRows rows;
  rows.k.resize(static_cast<std::size_t>(n * kv));
  rows.v.resize(static_cast<std::size_t>(n * kv));
  w.reserve(n);
  kernels::rms_norm(w.context(), w.xn.data(), hidden, weights.attention_norm, n, c.hidden, c.norm_epsilon);
  project(w, w.xn.data(), n, {{rows.k.data(), &weights.k}, {rows.v.data(), &weights.v}}, adapter, true);
  rows.key.assign(static_cast<std::size_t>(n * d_r), 0.0f);
  if (!weights.key.empty()) retriever_project(w, rows.key.data(), w.xn.data(), n, weights.key, true);
  require_finite(w, layer, "keys of a memory", rows.k.data(), n * kv);
  require_finite(w, layer, "values of a memory", rows.v.data(), n * kv);
  require_finite(w, layer, "retriever keys", rows.key.data(), n * d_r);
  return rows;
}

ChunkRows::ChunkRows(Workspace& w, const WrittenRows& written) {
  const std::size_t layers = written.hidden.size();
  projected_.reserve(layers);
  for (std::size_t place = 0; place < layers; ++place) {
    const float* hidden = written.hidden[place].data();
    const std::int64_t l = w.weights().memory->layers.layer(static_cast<std::int64_t>(place));
    const auto& p = projected_.emplace_back(project_rows(w, l, hidden, written.n));
    rows_.push_back(
        {.hidden = hidden, .k = p.k.data(), .v = p.v.data(), .key = p.key.data(), .n = written.n});
  }
}

void inject(Workspace& w, std::span<const Injection> batch) {
  std::vector<WriteItem> items;
  items.reserve(batch.size());
  for (const Injection& i : batch) items.push_back({i.chunk, i.memory, i.stop});
  const std::vector<WrittenRows> written = write_pass(w, items);
  std::vector<ChunkRows> rows;
  rows.reserve(batch.size());
  for (const WrittenRows& chunk : written) rows.emplace_back(w, chunk);
  // Nothing fails from here on: all memories change, or none.
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i].memory->update(rows[i].layers(), batch[i].drops);
}

}  // namespace mplus::model
