#include "mplus/model/passes/workspace.h"

#include <algorithm>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/io/config/rope_frequencies.h"
#include "mplus/kernels/linear/activation.h"
#include "mplus/kernels/linear/adapter.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/model/placement.h"

namespace mplus::model {

std::vector<float> inverse_frequencies(const io::ModelConfig& config, const RopeOptions& options) {
  std::vector<float> frequencies = io::inverse_frequencies(config);
  if (options.bf16_frequencies)
    for (float& frequency : frequencies) frequency = bf16_to_f32(f32_to_bf16(frequency));
  return frequencies;
}

Workspace::Workspace(std::shared_ptr<const Weights> weights, kernels::Queue& queue,
                     const RopeOptions& options, WeightForm form)
    : weights_(place_weights(std::move(weights), queue, form)),
      queue_(&queue),
      rope_(inverse_frequencies(weights_->config, options)) {
  if (weights_->memory) project_bos();
}

kernels::KvShape Workspace::kv_shape() const {
  const io::ModelConfig& c = weights_->config;
  return {.heads = c.heads, .groups = c.kv_heads, .head_size = c.head_size};
}

void Workspace::reserve(std::int64_t rows) {
  if (rows <= rows_) return;
  rows_ = std::max(rows, rows_ + rows_ / 2);
  const io::ModelConfig& c = weights_->config;
  buffers_.clear();
  const auto sized = [&](std::int64_t width) {
    buffers_.push_back(room(rows_ * width));
    return buffers_.back().tensor(DType::f32, {rows_, width});
  };
  for (Tensor* tensor : {&all_.x, &all_.xn}) *tensor = sized(c.hidden);
  for (Tensor* tensor : {&all_.q, &all_.o}) *tensor = sized(c.heads * c.head_size);
  for (Tensor* tensor : {&all_.k, &all_.v}) *tensor = sized(c.kv_heads * c.head_size);
  for (Tensor* tensor : {&all_.gate, &all_.up}) *tensor = sized(c.ffn);
  if (!weights_->memory) return;
  const std::int64_t r = weights_->memory->lora.rank;
  low_ = sized(static_cast<std::int64_t>(kProjections) * r)
             .as_shape({static_cast<std::int64_t>(kProjections), rows_, r});
  all_.query_hidden = sized(2 * weights_->memory->d_r);
  all_.pool = sized(1).as_shape({rows_});
}

Buffer Workspace::room(std::int64_t floats) const {
  return queue_->backend().allocate(row_bytes(DType::f32, std::max<std::int64_t>(1, floats)));
}

Activations Workspace::rows(std::int64_t n) const {
  Activations some = all_;
  for (Tensor* tensor : {&some.x, &some.xn, &some.q, &some.o, &some.k, &some.v, &some.gate, &some.up,
                         &some.query_hidden, &some.pool})
    if (!tensor->empty()) *tensor = tensor->rows(0, n);
  return some;
}

Tensor Workspace::low(std::size_t projection, std::int64_t n) const {
  return low_.row(static_cast<std::int64_t>(projection)).rows(0, n);
}

DType Workspace::cache_type() const { return queue_->backend().cache_type(queue_->numerics()); }

std::int64_t Workspace::short_rows() const { return queue_->backend().short_rows(queue_->numerics()); }

kernels::KvCache Workspace::chunk_cache(std::int64_t rows) {
  const kernels::KvShape shape = kv_shape();
  const std::int64_t elements = shape.groups * rows * shape.head_size;
  for (Buffer* buffer : {&chunk_keys_, &chunk_values_})
    if (buffer->size_bytes() < row_bytes(cache_type(), elements))
      *buffer = queue_->backend().allocate(row_bytes(cache_type(), elements));
  return {.keys = chunk_keys_.tensor(cache_type(), {shape.groups, rows, shape.head_size}),
          .values = chunk_values_.tensor(cache_type(), {shape.groups, rows, shape.head_size}),
          .rows = 0};
}

void Workspace::project_bos() {
  const auto layers = static_cast<std::int64_t>(weights_->layers.size());
  bos_ = room(2 * layers * 2 * weights_->config.kv_heads * weights_->config.head_size);
  reserve(1);
  begin_checks(*this);
  const Tensor xn = rows(1).xn;
  for (Adapter adapter : {Adapter::write, Adapter::read}) {
    const PassKind kind{adapter, kernels::Rows::batched};
    for (std::int64_t l = 0; l < layers; ++l) {
      const Layer& layer = weights_->layers[static_cast<std::size_t>(l)];
      kernels::rms_norm(*queue_, xn, layer.bos, layer.attention_norm, weights_->config.norm_epsilon);
      project(*this, xn, {{bos(l, adapter, 0), &layer.k}, {bos(l, adapter, 1), &layer.v}}, kind);
      require_finite(*this, l, "keys of bos", bos(l, adapter, 0));
      require_finite(*this, l, "values of bos", bos(l, adapter, 1));
    }
  }
  end_checks(*this);
}

Tensor Workspace::bos(std::int64_t layer, Adapter adapter, std::int64_t which) const {
  const auto kv = weights_->config.kv_heads * weights_->config.head_size;
  const auto layers = static_cast<std::int64_t>(weights_->layers.size());
  const std::int64_t set = adapter == Adapter::write ? 0 : 1;
  return bos_.tensor(DType::f32, {2 * layers * 2, kv}).rows((set * layers + layer) * 2 + which, 1);
}

namespace {

// The n-th of the outputs of one x of so many rows.
kernels::AdaptedOutput adapted_output(const Workspace& w, std::int64_t rows, const Projected& output,
                                      std::size_t n, const PassKind& kind) {
  const auto& [out, projection, accumulate] = output;
  kernels::AdaptedOutput adapted{
      .out = out, .base = &projection->base, .adapter = {}, .accumulate = accumulate};
  if (const Lora* lora = projection->lora(kind.adapter))
    adapted.adapter = {lora->a, lora->b, w.weights().lora_scale, w.low(n, rows)};
  return adapted;
}

}  // namespace

void project(Workspace& w, ConstTensor x, std::initializer_list<Projected> outputs, const PassKind& kind) {
  MPLUS_CHECK(outputs.size() <= Workspace::kProjections, "{} projections at once", outputs.size());
  kernels::AdaptedOutput adapted[Workspace::kProjections];
  std::size_t n = 0;
  for (const Projected& output : outputs) {
    adapted[n] = adapted_output(w, x.size(0), output, n, kind);
    ++n;
  }
  kernels::linear_adapted(w.queue(), x, {adapted, n}, kind.rows);
  for (const auto& [out, projection, accumulate] : outputs) finish_projection(w, out, *projection);
}

void finish_projection(Workspace& w, Tensor out, const Projection& projection) {
  if (!projection.bias.empty()) kernels::add_row(w.queue(), out, projection.bias);
  if (projection.head_norm.empty()) return;
  const std::int64_t e = w.weights().config.head_size;
  const Tensor heads = out.as_shape({out.elements() / e, e});
  kernels::rms_norm(w.queue(), heads, heads, projection.head_norm, w.weights().config.norm_epsilon);
}

void retriever_project(Workspace& w, Tensor out, ConstTensor xn, const RetrieverHead& head,
                       kernels::Rows rows) {
  const kernels::LinearOptions options{.rows = rows};
  if (head.second.empty()) return kernels::linear(w.queue(), out, xn, head.first, options);
  const Tensor hidden = w.query_hidden(xn.size(0));
  kernels::linear(w.queue(), hidden, xn, head.first, options);
  kernels::silu(w.queue(), hidden);
  kernels::linear(w.queue(), out, hidden, head.second, options);
}

void require_finite(Workspace& w, std::int64_t layer, const char* what, ConstTensor values) {
  const Finite check{layer, what, values};
  require_finite(w, {&check, 1});
}

void require_finite(Workspace& w, std::span<const Finite> checks) {
  std::vector<kernels::Note>& notes = w.notes;
  notes.clear();
  for (const auto& [layer, what, values] : checks) {
    notes.push_back({values, static_cast<std::int32_t>(w.checked.size())});
    w.checked.push_back({layer, what});
  }
  kernels::note_finite(w.queue(), notes);
  if (w.queue().device().is_cpu()) end_checks(w);
}

void begin_checks(Workspace& w) {
  if (w.checked.empty()) return;
  kernels::take_note(w.queue());
  w.checked.clear();
}

namespace {

void require_no_note(const Workspace& w, std::span<const Workspace::Checked> checked, std::int32_t note) {
  if (note < 0) return;
  const Workspace::Checked first = checked[static_cast<std::size_t>(note)];
  fail(ErrorCode::corrupt,
       "{}: {}{} are NaN or infinite: the weights are damaged, or the memory that is read; get the files "
       "again",
       w.weights().files, first.layer < 0 ? "" : fmt::format("layer {}: ", first.layer), first.what);
}

}  // namespace

void end_checks(Workspace& w) {
  if (w.checked.empty()) return;
  const std::int32_t note = kernels::take_note(w.queue());
  if (note < 0) return w.checked.clear();  // its memory is kept
  const std::vector<Workspace::Checked> checked = std::exchange(w.checked, {});
  require_no_note(w, checked, note);
}

Checks mark_checks(Workspace& w) {
  std::unique_ptr<kernels::Mark> mark = w.queue().backend().mark(w.queue());
  return {std::move(mark), std::exchange(w.checked, {})};
}

void end_checks(const Workspace& w, const Checks& checks) {
  require_no_note(w, checks.checked, checks.mark->wait());
}

void require_finite_attention(Workspace& w, std::int64_t layer, ConstTensor q, const Activations& a) {
  const Finite checks[] = {{layer, "queries", q}, {layer, "keys", a.k}, {layer, "values", a.v}};
  require_finite(w, checks);
}

std::int32_t expect_finite_attention(Workspace& w, std::int64_t layer) {
  const auto first = static_cast<std::int32_t>(w.checked.size());
  for (const char* what : {"queries", "keys", "values"}) w.checked.push_back({layer, what});
  return first;
}

namespace {

// What gate and up leave is read by products alone, where all that follow read it as they do.
kernels::ResultUse use_of_gated(Workspace& w, const Layer& layer) {
  const Projection& down = layer.down;
  const auto differs = [&](const Matrix& m) {
    return !m.empty() && !w.queue().backend().read_alike(layer.gate.base, m);
  };
  return differs(down.base) || differs(down.write.a) || differs(down.read.a) ? kernels::ResultUse::any
                                                                             : kernels::ResultUse::products;
}

}  // namespace

std::optional<DType> common_type(std::initializer_list<const Projection*> projections, Adapter adapter) {
  constexpr std::int64_t kWhole = 4;  // outputs: others may be read in another way
  const DType type = (*projections.begin())->base.dtype;
  for (const Projection* projection : projections) {
    const Lora* lora = projection->lora(adapter);
    if (projection->base.dtype != type || projection->base.rows % kWhole != 0) return std::nullopt;
    if (lora && (lora->a.dtype != type || lora->a.rows % kWhole != 0)) return std::nullopt;
  }
  return type;
}

void finish_layer(Workspace& w, const Layer& layer, Tensor x, ConstTensor attention, const PassKind& kind) {
  const io::ModelConfig& c = w.weights().config;
  const Activations a = w.rows(x.size(0));
  kernels::linear(w.queue(), x, attention, layer.o, {.accumulate = true, .rows = kind.rows});  // [T,d]
  kernels::rms_norm(w.queue(), a.xn, x, layer.mlp_norm, c.norm_epsilon,
                    common_type({&layer.gate, &layer.up}, kind.adapter));  // [T,d]
  if (layer.gate.bias.empty() && layer.up.bias.empty()) {
    kernels::swiglu_adapted(w.queue(), a.xn, adapted_output(w, x.size(0), {a.gate, &layer.gate}, 0, kind),
                            adapted_output(w, x.size(0), {a.up, &layer.up}, 1, kind), kind.rows,
                            use_of_gated(w, layer));  // [T,F]
  } else {
    project(w, a.xn, {{a.gate, &layer.gate}, {a.up, &layer.up}}, kind);  // [T,F] twice
    kernels::swiglu(w.queue(), a.gate, a.gate, a.up);                    // [T,F]
  }
  project(w, a.gate, {{x, &layer.down, /*accumulate=*/true}}, kind);  // [T,d]
}

}  // namespace mplus::model
