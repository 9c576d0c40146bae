#include "mplus/model/passes/kept_rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/activation.h"
#include "mplus/kernels/linear/adapter.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::model {
namespace {

constexpr auto kBatched = kernels::Rows::batched;

// A projection without its bias and norm.
kernels::AdaptedOutput output_of(const Workspace& w, const Tensor& out, const Projection& projection,
                                 Adapter adapter, const Tensor& low) {
  kernels::AdaptedOutput output{.out = out, .base = &projection.base};
  if (const Lora* lora = projection.lora(adapter))
    output.adapter = {lora->a, lora->b, w.weights().lora_scale, low};
  return output;
}

}  // namespace

KeptRows::KeptRows(Workspace& w, std::int64_t rows, std::int64_t layers)
    : w_(&w), rows_(rows), layers_(layers) {
  const io::ModelConfig& c = w.weights().config;
  const io::MemoryConfig& memory = *w.weights().memory;
  const std::int64_t n = rows * layers, kv = c.kv_heads * c.head_size;
  struct KeptColumn {
    Tensor* tensor;
    std::int64_t width;
  };
  const KeptColumn parts[] = {{&normed_, c.hidden},       {&k_, kv},           {&v_, kv},
                              {&hidden_, 2 * memory.d_r}, {&key_, memory.d_r}, {&low_k_, memory.lora.rank},
                              {&low_v_, memory.lora.rank}};
  constexpr std::int64_t kPlace = 64;  // floats: where each begins
  const auto room = [&](const KeptColumn& part) { return (n * part.width + kPlace - 1) / kPlace * kPlace; };
  std::int64_t all = 0;
  for (const KeptColumn& part : parts) all += room(part);
  memory_ = w.queue().backend().allocate(row_bytes(DType::f32, std::max<std::int64_t>(1, all)));
  const Tensor flat = memory_.tensor(DType::f32, {all});
  std::int64_t at = 0;
  for (const KeptColumn& part : parts) {
    *part.tensor = flat.rows(at, n * part.width).as_shape({n, part.width});
    at += room(part);
  }
}

// Beyond some rows one layer alone keeps a device busy; the processor gains nothing.
std::int64_t KeptRows::worth_together(Workspace& w, std::int64_t rows) {
  constexpr std::int64_t kEnoughRows = 2048, kMostLayers = 8;
  if (w.queue().device().is_cpu()) return 1;
  std::int64_t layers = kMostLayers;
  while (layers > 1 && layers * rows > kEnoughRows) layers /= 2;
  return layers;
}

void KeptRows::project(std::span<const std::int64_t> layers, Adapter adapter) {
  Workspace& w = *w_;
  std::vector<std::array<kernels::AdaptedOutput, 3>> outputs(layers.size());
  std::vector<kernels::AdaptedProducts> all;
  const auto layer_of = [&](std::size_t i) -> const Layer& {
    return w.weights().layers[static_cast<std::size_t>(layers[i])];
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layer_of(i);
    outputs[i] = {output_of(w, k(i), layer.k, adapter, of(low_k_, i)),
                  output_of(w, v(i), layer.v, adapter, of(low_v_, i)),
                  {.out = layer.key.second.empty() ? key(i) : of(hidden_, i), .base = &layer.key.first}};
    all.push_back({normed(i), {outputs[i].data(), layer.key.empty() ? 2u : 3u}});
  }
  kernels::linear_adapted(w.queue(), all, kBatched);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    finish_projection(w, k(i), layer_of(i).k);
    finish_projection(w, v(i), layer_of(i).v);
  }
  finish_keys(layers);
}

// From what their first matrices made.
void KeptRows::finish_keys(std::span<const std::int64_t> layers) {
  Workspace& w = *w_;
  std::vector<kernels::AdaptedOutput> outputs(layers.size());
  std::vector<kernels::AdaptedProducts> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const RetrieverHead& head = w.weights().layers[static_cast<std::size_t>(layers[i])].key;
    if (head.empty()) kernels::fill(w.queue(), key(i), 0.0f);
    if (head.second.empty()) continue;
    outputs[i] = {.out = key(i), .base = &head.second};
    all.push_back({of(hidden_, i), {&outputs[i], 1}});
  }
  if (all.empty()) return;
  kernels::silu(w.queue(), hidden_.rows(0, std::ssize(layers) * rows_));
  kernels::linear_adapted(w.queue(), all, kBatched);
}

}  // namespace mplus::model
