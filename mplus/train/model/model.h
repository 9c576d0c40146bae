// The model while it is trained: a Llama or Qwen base, the two adapters, bos and positional vectors and the
// retriever, as torch tensors that may carry gradients. Tensors of the same kind are stacked over the layers,
// so that one product adds an adapter to all of them and the optimizer sees few, large tensors.
//
// Not every layer has to keep a memory. What belongs to memories (rows, retriever, votes) is counted by place
// among those that do, from the lowest: [M] below, [L] are all layers. A layer without one is written and
// read as if its memory were empty.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mplus/io/config/memory_config.h"
#include "mplus/io/config/model_config.h"
#include "mplus/train/model/layers/rope.h"
#include "mplus/train/torch.h"

namespace mplus::train {

// Which low-rank set is active: `write` while a chunk is injected, `read` while text is read and generated.
enum class Adapter { none, write, read };

struct Base {
  Tensor embedding;                   // [V, d]
  Tensor head;                        // [V, d]; the embedding itself where tied
  Tensor final_norm;                  // [d]
  Tensor attention_norm, mlp_norm;    // [L, d]
  Tensor q, k, v, o, gate, up, down;  // [L, out, in]
  Tensor q_bias, k_bias, v_bias;      // [L, out]; undefined: none
  Tensor q_norm, k_norm;              // [L, e], of a head before it is rotated; undefined: none
};

struct Lora {
  Tensor a;  // [L, r, in]
  Tensor b;  // [L, out, r]
};

struct AdapterSet {
  Lora q, k, v, gate, up, down;
};

// Linear → SiLU → Linear, or a single Linear where `second` is undefined.
struct RetrieverHead {
  Tensor first;   // [M, 2·d_r, d]
  Tensor second;  // [M, d_r, 2·d_r]
};

struct Model {
  io::ModelConfig config;
  io::MemoryConfig memory;
  Base base;
  AdapterSet write, read;
  Tensor bos;         // [L, d]
  Tensor positional;  // [d], added to the rows an update writes
  RetrieverHead query, key, encoder_query;
  Tensor vote_weights;  // [M], of the layers in a vote; undefined: all alike
  Tensor vector_pool;   // [M, d], for one vector a chunk: a token's share in its question's query; undefined:
                        // the retriever is not trained for it
  bool base_trained = false;               // the base's own weights are no longer those that were loaded
  torch::Dtype compute = torch::kFloat32;  // of the passes; parameters stay as they are
  bool spare_memory = false;  // a layer's widest product is computed again on the way back instead of kept
  std::shared_ptr<RopeTable> rope;

  double lora_scale() const { return memory.lora.alpha / static_cast<double>(memory.lora.rank); }
  std::int64_t memory_layers() const { return memory.layers.count(config.layers); }  // M
  // The norm in front of the layer at this place: what reads a memory's rows.
  Tensor memory_norm(std::int64_t place) const { return base.attention_norm[memory.layers.layer(place)]; }
  torch::Device device() const { return base.embedding.device(); }
};

// Moves every tensor to the device; passes compute in `compute` from then on. For before training begins: the
// tensors are new ones.
void place(Model& model, torch::Device device, torch::Dtype compute);

// Every tensor of a model, with its name in the published layout. The one table that loading, saving,
// optimizers and tests go by.
enum class ParameterPart { base, adapter, vectors, retriever };
struct Parameter {
  std::string name;  // "{}" stands for the layer where stacked
  Tensor* tensor;    // stacked: [layers, shape…]
  ParameterPart part;
  std::vector<std::int64_t> shape;   // of one layer
  std::vector<std::int64_t> layers;  // that it is stacked over; empty: it is not

  bool stacked() const { return !layers.empty(); }
  std::vector<std::int64_t> whole_shape() const;
  std::string layer_name(std::size_t i) const;  // the name with the i-th of its layers put in
};
std::vector<Parameter> parameters(Model& model);

// A layer's matrices as a pass uses them: an adapter added in, in the type that is computed with.
struct LayerWeights {
  Tensor attention_norm, mlp_norm;  // [d], not rounded
  Tensor qkv;                       // [(H + 2G)·e, d]
  Tensor o;                         // [d, H·e]
  Tensor gate_up;                   // [2F, d]
  Tensor down;                      // [d, F]
  Tensor qkv_bias;                  // [(H + 2G)·e]; undefined: none
  Tensor q_norm, k_norm;            // [e], not rounded; undefined: none
  bool spare_memory = false;        // Model::spare_memory
};
struct PassWeights {
  std::vector<LayerWeights> layers;
  Tensor bos;         // [L, d]
  Tensor positional;  // [d]
};

// W + (α/r)·B·A of every layer: once a step, since a step's tokens outnumber the rows of a matrix. Gradients
// flow back to base and adapter wherever those ask for them.
PassWeights merge(const Model& model, Adapter adapter);

// The retriever's projection of normed rows [B, T, d] of the layer at a place: [B, T, d_r].
Tensor project(const RetrieverHead& head, std::int64_t place, const Tensor& normed);

}  // namespace mplus::train
