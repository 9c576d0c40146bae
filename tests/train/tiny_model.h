// A random model of a few hundred numbers, in any float type, without files.
#pragma once

#include "mplus/train/model/model.h"

namespace mplus::train {

// What sets families of decoders apart.
struct Family {
  bool qkv_bias = false, qk_norm = false;
};
constexpr Family kLlama{}, kQwen2{.qkv_bias = true}, kQwen3{.qk_norm = true};

// layers: those that keep a memory.
inline Model tiny_model(torch::Dtype dtype, std::uint64_t seed = 1, const LayerSet& layers = {},
                        const Family& family = kLlama) {
  Model model;
  model.config = {.architecture = "llama",
                  .layers = 2,
                  .hidden = 12,
                  .heads = 4,
                  .kv_heads = 2,
                  .head_size = 4,
                  .ffn = 10,
                  .vocab = 17,
                  .context = 256,
                  .norm_epsilon = 1e-5f,
                  .rope_theta = 100,
                  .rope_scaling = {},
                  .tied_embeddings = true,
                  .eos_ids = {},
                  .bos_id = {},
                  .add_bos = false,
                  .qkv_bias = family.qkv_bias,
                  .qk_norm = family.qk_norm};
  model.memory.K = 3;
  model.memory.N = 7;
  model.memory.K0 = 4;
  model.memory.C = 6;
  model.memory.W = 16;
  model.memory.d_r = 4;
  model.memory.lora = {.rank = 2, .alpha = 4};
  model.memory.layers = layers;
  model.memory.has_retriever = model.memory.has_encoder_query = model.memory.has_read_lora = true;
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (const Parameter& p : parameters(model)) {
    *p.tensor = 0.3 * torch::randn(p.whole_shape(), random, dtype);
    if (p.name.find("norm") != p.name.npos) *p.tensor += 1;
  }
  place(model, torch::kCPU, dtype);
  return model;
}

inline Tensor random_tokens(const Model& model, std::int64_t streams, std::int64_t T, std::uint64_t seed) {
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(seed);
  return torch::randint(model.config.vocab, {streams, T}, random, torch::kInt64);
}

}  // namespace mplus::train
