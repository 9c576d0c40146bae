#include "mplus/train/model/model.h"

#include <fmt/core.h>

namespace mplus::train {

std::vector<std::int64_t> Parameter::whole_shape() const {
  std::vector<std::int64_t> whole = shape;
  if (stacked()) whole.insert(whole.begin(), std::ssize(layers));
  return whole;
}

std::string Parameter::layer_name(std::size_t i) const {
  return fmt::format(fmt::runtime(name), layers.at(i));
}

namespace {

// The tensors of a model by the names of its files.
class ParameterList {
 public:
  explicit ParameterList(Model& model)
      : model_(model),
        every_(LayerSet().list(model.config.layers)),
        remembering_(model.memory.layers.list(model.config.layers)) {}

  void add_base() {
    const io::ModelConfig& c = model_.config;
    const std::int64_t d = c.hidden, q = c.heads * c.head_size, kv = c.kv_heads * c.head_size;
    Base& base = model_.base;
    single("model.embed_tokens.weight", base.embedding, ParameterPart::base, {c.vocab, d});
    if (!c.tied_embeddings) single("lm_head.weight", base.head, ParameterPart::base, {c.vocab, d});
    single("model.norm.weight", base.final_norm, ParameterPart::base, {d});
    stacked("input_layernorm.weight", base.attention_norm, ParameterPart::base, {d});
    stacked("post_attention_layernorm.weight", base.mlp_norm, ParameterPart::base, {d});
    projection("self_attn.q_proj", base.q, &AdapterSet::q, q, d);
    projection("self_attn.k_proj", base.k, &AdapterSet::k, kv, d);
    projection("self_attn.v_proj", base.v, &AdapterSet::v, kv, d);
    if (c.qkv_bias) {
      stacked("self_attn.q_proj.bias", base.q_bias, ParameterPart::base, {q});
      stacked("self_attn.k_proj.bias", base.k_bias, ParameterPart::base, {kv});
      stacked("self_attn.v_proj.bias", base.v_bias, ParameterPart::base, {kv});
    }
    if (c.qk_norm) {
      stacked("self_attn.q_norm.weight", base.q_norm, ParameterPart::base, {c.head_size});
      stacked("self_attn.k_norm.weight", base.k_norm, ParameterPart::base, {c.head_size});
    }
    stacked("self_attn.o_proj.weight", base.o, ParameterPart::base, {d, q});
    projection("mlp.gate_proj", base.gate, &AdapterSet::gate, c.ffn, d);
    projection("mlp.up_proj", base.up, &AdapterSet::up, c.ffn, d);
    projection("mlp.down_proj", base.down, &AdapterSet::down, d, c.ffn);
  }

  void add_memory() {
    const std::int64_t d = model_.config.hidden;
    single("bos_embedding", model_.bos, ParameterPart::vectors, {model_.config.layers, d});
    single("new_memory_positional_emb", model_.positional, ParameterPart::vectors, {d});
    if (!model_.memory.has_retriever) return;
    head("self_attn.query_proj", model_.query);
    head("self_attn.key_proj", model_.key);
    if (model_.memory.has_encoder_query) head("self_attn.encoder_query_proj", model_.encoder_query);
    if (model_.vote_weights.defined())
      single("vote_weights", model_.vote_weights, ParameterPart::retriever, {model_.memory_layers()});
    if (model_.vector_pool.defined())
      single("vector_pool", model_.vector_pool, ParameterPart::retriever, {model_.memory_layers(), d});
  }

  std::vector<Parameter> take() { return std::move(all_); }

 private:
  using Shape = std::vector<std::int64_t>;

  void single(std::string name, Tensor& tensor, ParameterPart part, Shape shape) {
    all_.push_back({std::move(name), &tensor, part, std::move(shape), {}});
  }
  void stacked(const std::string& name, Tensor& tensor, ParameterPart part, Shape shape) {
    all_.push_back({"model.layers.{}." + name, &tensor, part, std::move(shape),
                    part == ParameterPart::retriever ? remembering_ : every_});
  }
  // A projection and what the two adapters add to it.
  void projection(const std::string& name, Tensor& base, Lora AdapterSet::*lora, std::int64_t out,
                  std::int64_t in) {
    const io::MemoryConfig& m = model_.memory;
    stacked(name + ".weight", base, ParameterPart::base, {out, in});
    const auto set = [&](AdapterSet& adapters, const std::string& which) {
      stacked(name + ".lora_A." + which + ".weight", (adapters.*lora).a, ParameterPart::adapter,
              {m.lora.rank, in});
      stacked(name + ".lora_B." + which + ".weight", (adapters.*lora).b, ParameterPart::adapter,
              {out, m.lora.rank});
    };
    if (m.lora.rank > 0) set(model_.write, "default");
    if (m.lora.rank > 0 && m.has_read_lora) set(model_.read, "decoder_adapter");
  }
  void head(const std::string& name, RetrieverHead& h) {
    const std::int64_t d = model_.config.hidden, d_r = model_.memory.d_r;
    const bool deep = model_.memory.selector_depth == 2;
    stacked(deep ? name + ".0.weight" : name + ".weight", h.first, ParameterPart::retriever,
            {deep ? 2 * d_r : d_r, d});
    if (deep) stacked(name + ".2.weight", h.second, ParameterPart::retriever, {d_r, 2 * d_r});
  }

  Model& model_;
  std::vector<std::int64_t> every_, remembering_;  // layers
  std::vector<Parameter> all_;
};

}  // namespace

std::vector<Parameter> parameters(Model& model) {
  ParameterList list(model);
  list.add_base();
  if (model.memory.K > 0) list.add_memory();  // else a plain base
  return list.take();
}

void place(Model& model, torch::Device device, torch::Dtype compute) {
  const bool one_set = model.memory.K > 0 && !model.memory.has_read_lora;
  for (const Parameter& p : parameters(model)) *p.tensor = p.tensor->to(device);
  if (model.config.tied_embeddings) model.base.head = model.base.embedding;
  if (one_set) model.read = model.write;
  model.compute = compute;
  model.rope = std::make_shared<RopeTable>(model.config, compute, device);
}

PassWeights merge(const Model& model, Adapter adapter) {
  const Base& base = model.base;
  const auto merged = [&](const Tensor& weight, Lora AdapterSet::*which) {
    if (adapter == Adapter::none) return weight;
    const Lora& lora = (adapter == Adapter::write ? model.write : model.read).*which;
    return torch::baddbmm(weight, lora.b, lora.a, 1.0, model.lora_scale());
  };
  const auto layers = [&](const Tensor& stacked) { return stacked.to(model.compute).unbind(0); };
  const auto where_there = [](const Tensor& stacked, std::size_t l) {
    return stacked.defined() ? stacked.select(0, static_cast<std::int64_t>(l)) : Tensor();
  };
  const auto qkv = layers(torch::cat(
      {merged(base.q, &AdapterSet::q), merged(base.k, &AdapterSet::k), merged(base.v, &AdapterSet::v)}, 1));
  const auto gate_up =
      layers(torch::cat({merged(base.gate, &AdapterSet::gate), merged(base.up, &AdapterSet::up)}, 1));
  const auto down = layers(merged(base.down, &AdapterSet::down));
  const auto o = layers(base.o);
  const auto attention_norm = base.attention_norm.unbind(0), mlp_norm = base.mlp_norm.unbind(0);
  Tensor qkv_bias;
  if (base.q_bias.defined())
    qkv_bias = torch::cat({base.q_bias, base.k_bias, base.v_bias}, 1).to(model.compute);
  PassWeights weights;
  for (std::size_t l = 0; l < qkv.size(); ++l)
    weights.layers.push_back({.attention_norm = attention_norm[l],
                              .mlp_norm = mlp_norm[l],
                              .qkv = qkv[l],
                              .o = o[l],
                              .gate_up = gate_up[l],
                              .down = down[l],
                              .qkv_bias = where_there(qkv_bias, l),
                              .q_norm = where_there(base.q_norm, l),
                              .k_norm = where_there(base.k_norm, l),
                              .spare_memory = model.spare_memory});
  if (model.bos.defined()) {  // not of a plain base
    weights.bos = model.bos.to(model.compute);
    weights.positional = model.positional.to(model.compute);
  }
  return weights;
}

Tensor project(const RetrieverHead& head, std::int64_t place, const Tensor& normed) {
  const auto weight = [&](const Tensor& stacked) {
    return stacked.select(0, place).to(normed.scalar_type());
  };
  const Tensor first = torch::linear(normed, weight(head.first));
  return head.second.defined() ? torch::linear(torch::silu(first), weight(head.second)) : first;
}

}  // namespace mplus::train
