#include "mplus/train/model/new_delta.h"

#include <cmath>

#include "mplus/core/error.h"
#include "mplus/train/model/decoder_layer.h"

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
  const torch::Dtype dtype = model.base.embedding.scalar_type();
  const Tensor bos = bos_states(model);
  model.memory = memory;
  model.memory.has_read_lora = model.memory.has_retriever = true;
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (const Parameter& p : parameters(model)) {
    if (p.part == Part::base) continue;
    std::vector<std::int64_t> shape = p.shape;
    if (p.stacked) shape.insert(shape.begin(), model.config.layers);
    const bool zero = p.name.find("lora_B") != p.name.npos || p.tensor == &model.positional;
    const double scale = 1 / std::sqrt(static_cast<double>(shape.back()));
    *p.tensor = (zero ? torch::zeros(shape) : scale * torch::randn(shape, random, torch::kFloat32))
                    .to(model.device(), dtype);
  }
  model.bos = bos.to(dtype);
}

}  // namespace mplus::train
