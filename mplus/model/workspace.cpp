#include "mplus/model/workspace.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/core/finite.h"
#include "mplus/core/float16.h"
#include "mplus/io/config/rope_frequencies.h"
#include "mplus/kernels/activation.h"
#include "mplus/kernels/linear.h"
#include "mplus/kernels/norm.h"

namespace mplus::model {
namespace {

kernels::LinearOptions rows_option(bool batched) {
  return {.rows = batched ? kernels::Rows::batched : kernels::Rows::few};
}

// Bias and norm of heads, where the architecture has them.
void finish_projection(Workspace& w, const Projected& p, std::int64_t T) {
  const std::int64_t width = p.projection->base.rows, e = w.weights().config.head_size;
  if (p.projection->bias) kernels::add_row(w.context(), p.out, p.projection->bias, T, width);
  if (p.projection->head_norm)
    kernels::rms_norm(w.context(), p.out, p.out, p.projection->head_norm, T * width / e, e,
                      w.weights().config.norm_epsilon);
}

}  // namespace

std::vector<float> inverse_frequencies(const io::ModelConfig& config, const RopeOptions& options) {
  std::vector<float> frequencies = io::inverse_frequencies(config);
  if (options.bf16_frequencies)
    for (float& frequency : frequencies) frequency = bf16_to_f32(f32_to_bf16(frequency));
  return frequencies;
}

Workspace::Workspace(std::shared_ptr<const Weights> weights, kernels::Context& context,
                     const RopeOptions& options)
    : weights_(std::move(weights)),
      context_(&context),
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
  const auto sized = [&](AlignedVector<float>& buffer, std::int64_t width) {
    buffer.resize(static_cast<std::size_t>(rows_ * width));
  };
  for (auto* buffer : {&x, &xn}) sized(*buffer, c.hidden);
  for (auto* buffer : {&q, &o}) sized(*buffer, c.heads * c.head_size);
  for (auto* buffer : {&k, &v}) sized(*buffer, c.kv_heads * c.head_size);
  for (auto* buffer : {&gate, &up}) sized(*buffer, c.ffn);
  logits.resize(static_cast<std::size_t>(kLogitRows * c.vocab));
  if (!weights_->memory) return;
  sized(lora, static_cast<std::int64_t>(kProjections) * weights_->memory->lora.rank);
  sized(query, weights_->memory->d_r);
  sized(query_hidden, 2 * weights_->memory->d_r);
  sized(pool, 1);
}

void Workspace::project_bos() {
  const auto kv = weights_->config.kv_heads * weights_->config.head_size;
  const auto layers = static_cast<std::int64_t>(weights_->layers.size());
  bos_.resize(static_cast<std::size_t>(2 * layers * 2 * kv));
  reserve(1);
  for (Adapter adapter : {Adapter::write, Adapter::read}) {
    for (std::int64_t l = 0; l < layers; ++l) {
      const Layer& layer = weights_->layers[static_cast<std::size_t>(l)];
      kernels::rms_norm(*context_, xn.data(), layer.bos, layer.attention_norm, 1, weights_->config.hidden,
                        weights_->config.norm_epsilon);
      project(*this, xn.data(), 1,
              {{const_cast<float*>(bos(l, adapter, 0)), &layer.k},
               {const_cast<float*>(bos(l, adapter, 1)), &layer.v}},
              adapter, true);
      require_finite(*this, l, "keys and values of bos", bos(l, adapter, 0), 2 * kv);
    }
  }
}

const float* Workspace::bos(std::int64_t layer, Adapter adapter, std::int64_t which) const {
  const auto kv = weights_->config.kv_heads * weights_->config.head_size;
  const auto layers = static_cast<std::int64_t>(weights_->layers.size());
  const std::int64_t set = adapter == Adapter::write ? 0 : 1;
  return bos_.data() + ((set * layers + layer) * 2 + which) * kv;
}

void project(Workspace& w, const float* x, std::int64_t T, std::initializer_list<Projected> outputs,
             Adapter adapter, bool batched) {
  MPLUS_CHECK(outputs.size() <= Workspace::kProjections, "{} projections at once", outputs.size());
  kernels::Product products[2 * Workspace::kProjections];
  std::size_t n = 0;
  float* lora_rows = w.lora.data();  // [T, r] for each that has an adapter
  for (const Projected& p : outputs) {
    kernels::LinearOptions options = rows_option(batched);
    options.accumulate = p.accumulate;
    products[n++] = {.out = p.out, .w = &p.projection->base, .options = options};
    const Lora* lora = p.projection->lora(adapter);
    if (!lora) continue;
    products[n++] = {.out = lora_rows, .w = &lora->a, .options = rows_option(batched)};
    lora_rows += T * lora->a.rows;
  }
  kernels::linear(w.context(), x, T, {products, n});
  lora_rows = w.lora.data();
  for (const Projected& p : outputs) {
    if (const Lora* lora = p.projection->lora(adapter)) {
      kernels::LinearOptions options = rows_option(batched);
      options.accumulate = true;
      options.scale = w.weights().lora_scale;
      kernels::linear(w.context(), p.out, lora_rows, T, lora->b, options);
      lora_rows += T * lora->a.rows;
    }
    finish_projection(w, p, T);
  }
}

void retriever_project(Workspace& w, float* out, const float* xn, std::int64_t T, const RetrieverHead& head,
                       bool batched) {
  const kernels::LinearOptions options = rows_option(batched);
  if (head.second.empty()) {
    kernels::linear(w.context(), out, xn, T, head.first, options);
    return;
  }
  kernels::linear(w.context(), w.query_hidden.data(), xn, T, head.first, options);
  kernels::silu(w.context(), w.query_hidden.data(), T * head.first.rows);
  kernels::linear(w.context(), out, w.query_hidden.data(), T, head.second, options);
}

void require_finite(const Workspace& w, std::int64_t layer, const char* what, const float* values,
                    std::int64_t n) {
  if (all_finite({values, static_cast<std::size_t>(n)})) return;
  fail(ErrorCode::corrupt,
       "{}: {}{} are NaN or infinite: the weights are damaged, or the memory that is read; get the files "
       "again",
       w.weights().files, layer < 0 ? "" : fmt::format("layer {}: ", layer), what);
}

void require_finite_attention(const Workspace& w, std::int64_t layer, std::int64_t active,
                              std::int64_t rows) {
  const kernels::KvShape shape = w.kv_shape();
  require_finite(w, layer, "queries", w.q.data(), active * shape.heads * shape.head_size);
  require_finite(w, layer, "keys", w.k.data(), rows * shape.groups * shape.head_size);
  require_finite(w, layer, "values", w.v.data(), rows * shape.groups * shape.head_size);
}

void finish_layer(Workspace& w, const Layer& layer, float* x, const float* attention, std::int64_t T,
                  Adapter adapter, bool batched) {
  const io::ModelConfig& c = w.weights().config;
  kernels::LinearOptions residual = rows_option(batched);
  residual.accumulate = true;
  kernels::linear(w.context(), x, attention, T, layer.o, residual);                             // [T,d]
  kernels::rms_norm(w.context(), w.xn.data(), x, layer.mlp_norm, T, c.hidden, c.norm_epsilon);  // [T,d]
  project(w, w.xn.data(), T, {{w.gate.data(), &layer.gate}, {w.up.data(), &layer.up}}, adapter,
          batched);                                                                         // [T,F], [T,F]
  kernels::swiglu(w.context(), w.gate.data(), w.gate.data(), w.up.data(), T * c.ffn);       // [T,F]
  project(w, w.gate.data(), T, {{x, &layer.down, /*accumulate=*/true}}, adapter, batched);  // [T,d]
}

}  // namespace mplus::model
