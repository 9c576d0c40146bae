#include "mplus/train/model/files/new_delta.h"

#include <cmath>

#include "mplus/core/error.h"
#include "mplus/train/model/layers/decoder_layer.h"

namespace mplus::train {
namespace {

// States of one token alone, before each layer: [L, d].
Tensor bos_states(const Model& model) {
  const torch::NoGradGuard constant;
  const std::int64_t bos = model.config.bos_id.value_or(1);
  const PassWeights weights = merge(model, Adapter::none);
  Tensor x = model.base.embedding.narrow(0, bos, 1).unsqueeze(0).to(model.compute);  // [1, 1, d]
  std::vector<Tensor> states;
  for (const LayerWeights& w : weights.layers) {
    states.push_back(x.flatten());
    x = decoder_layer(w, model.config, x, {}, *model.rope).y;
  }
  return torch::stack(states);
}

void check_fits(const Model& model, const LayerSet& layers) {
  if (!layers.fits(model.config.layers))
    fail(ErrorCode::invalid_argument, "memory: layers {}: the model has layers 0 to {}", layers.text(),
         model.config.layers - 1);
}

void set_layers(Model& model, const LayerSet& layers) {
  model.memory.layers = layers.of(model.config.layers);
  model.memory.selector_layers.clear();
  if (!model.memory.layers.is_all()) model.memory.selector_layers = layers.list(model.config.layers);
}

}  // namespace

void begin_delta(Model& model, const io::MemoryConfig& memory, std::uint64_t seed) {
  MPLUS_CHECK(model.memory.K == 0, "the model has memory parts already");
  if (memory.K <= 0 || memory.N < memory.K || memory.C <= 0 || memory.d_r <= 0 || memory.lora.rank <= 0 ||
      memory.lora.alpha <= 0)
    fail(ErrorCode::invalid_argument,
         "memory: expected K, C, d_r, rank and alpha above 0 and N ≥ K, found K = {}, N = {}, C = {}, d_r = "
         "{}, rank {}, "
         "alpha {}",
         memory.K, memory.N, memory.C, memory.d_r, memory.lora.rank, memory.lora.alpha);
  check_fits(model, memory.layers);
  const torch::Dtype dtype = model.base.embedding.scalar_type();
  const Tensor bos = bos_states(model);
  model.memory = memory;
  set_layers(model, memory.layers);
  model.memory.has_read_lora = model.memory.has_retriever = true;
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (const Parameter& p : parameters(model)) {
    if (p.part == ParameterPart::base) continue;
    const std::vector<std::int64_t> shape = p.whole_shape();
    const bool zero = p.name.find("lora_B") != p.name.npos || p.tensor == &model.positional;
    const double scale = 1 / std::sqrt(static_cast<double>(shape.back()));
    *p.tensor = (zero ? torch::zeros(shape) : scale * torch::randn(shape, random, torch::kFloat32))
                    .to(model.device(), dtype);
  }
  model.bos = bos.to(dtype);
}

void keep_layers(Model& model, const LayerSet& layers) {
  check_fits(model, layers);
  const LayerSet before = model.memory.layers;
  std::vector<std::int64_t> places;
  for (const std::int64_t l : layers.list(model.config.layers)) {
    if (!before.contains(l))
      fail(ErrorCode::invalid_argument, "memory: layers {}: the delta has a memory in layers {} only",
           layers.text(), before.text());
    places.push_back(before.place(l));
  }
  const Tensor kept = torch::tensor(places, torch::TensorOptions(model.device()).dtype(torch::kInt64));
  for (const Parameter& p : parameters(model))
    if (p.part == ParameterPart::retriever) *p.tensor = p.tensor->index_select(0, kept);
  set_layers(model, layers);
}

}  // namespace mplus::train
