// A tiny published model with everything: memory, long-term store, two adapters, retriever, scaled RoPE.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "mplus/core/thread_pool.h"
#include "mplus/model/files/load.h"
#include "mplus/model/initial_memory.h"
#include "mplus/model/passes/read_pass.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::model {

// The same weights with a memory in some layers only; what the checkpoint brought is left out.
inline std::shared_ptr<const Weights> with_memory_in(const LayerSet& layers,
                                                     std::shared_ptr<const Weights> all) {
  if (layers.is_all()) return all;
  auto some = std::make_shared<Weights>(*all);
  some->memory->layers = layers;
  some->initial_memory.reset();
  for (std::size_t l = 0; l < some->layers.size(); ++l)
    if (!layers.contains(static_cast<std::int64_t>(l)))
      some->layers[l].query = some->layers[l].key = some->layers[l].encoder_query = {};
  return some;
}

// The same weights with what another architecture adds to q, k and v: random biases, random norms of heads.
inline std::shared_ptr<const Weights> as_architecture(const std::string& architecture,
                                                      std::shared_ptr<const Weights> llama) {
  if (architecture == "llama") return llama;
  auto other = std::make_shared<Weights>(*llama);
  other->config.architecture = architecture;
  other->config.qkv_bias = architecture == "qwen2";
  other->config.qk_norm = architecture == "qwen3";
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  const auto vector = [&](std::int64_t n, float mean, float spread) {
    auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n));
    for (float& value : *values) value = mean + spread * normal(random);
    other->owners.push_back(values);
    return ConstTensor(values->data(), DType::f32, {n});
  };
  for (Layer& layer : other->layers) {
    for (Projection* p : {&layer.q, &layer.k, &layer.v})
      if (other->config.qkv_bias) p->bias = vector(p->base.rows, 0.0f, 0.5f);
    for (Projection* p : {&layer.q, &layer.k})
      if (other->config.qk_norm) p->head_norm = vector(other->config.head_size, 1.0f, 0.2f);
  }
  return other;
}

struct TinyModel {
  explicit TinyModel(int threads = 1, const char* folder = "mplus_read/model",
                     const MemoryOptions& options = {.dtype = DType::f32, .keep_hidden = true},
                     const LayerSet& layers = {}, const char* architecture = "llama")
      : weights(as_architecture(
            architecture,
            with_memory_in(layers, load_weights({.model = std::string(MPLUS_TEST_DATA "/golden/") + folder,
                                                 .delta = {}})))),
        pool(threads),
        queue(pool, kernels::Numerics::exact),
        workspace(weights, queue),
        layout(memory_layout(*weights, options)) {}

  memory::Memory memory(std::uint64_t seed = 1) { return initial_memory(workspace, layout, seed); }
  memory::Memory empty(std::uint64_t seed = 1) const { return {layout, seed}; }

  std::vector<TokenId> tokens(std::size_t n, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<TokenId> ids(n);
    for (TokenId& id : ids)
      id = static_cast<TokenId>(random() % static_cast<unsigned>(weights->config.vocab));
    return ids;
  }

  std::shared_ptr<const Weights> weights;
  ThreadPool pool;
  kernels::Queue queue;
  Workspace workspace;
  memory::Layout layout;
};

inline void write(TinyModel& model, memory::Memory& memory, std::span<const TokenId> chunk) {
  const Injection injection{.chunk = chunk, .memory = &memory};
  inject(model.workspace, {&injection, 1});
}

// Logits of the last token of a read, all in one pass or in pieces of the given lengths.
std::vector<float> read_in_pieces(TinyModel& model, const memory::Memory& memory,
                                  std::span<const TokenId> tokens, std::span<const std::size_t> pieces,
                                  memory::Recall* recall, bool window);

}  // namespace mplus::model
