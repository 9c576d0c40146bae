#include "mplus/model/files/load.h"

#include <algorithm>
#include <string>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/model/files/tensor_source.h"

namespace mplus::model {
namespace {

namespace fs = std::filesystem;

// A projection's name in the base: peft wraps what an adapter touches.
std::string base_name(const TensorSource& source, const std::string& stem) {
  const std::string wrapped = stem + ".base_layer.weight";
  return source.find(wrapped) ? wrapped : stem + ".weight";
}

// What only some architectures have.
void load_attention_parts(Weights& w, const TensorSource& source, Layer& layer, const std::string& prefix) {
  if (w.config.qkv_bias) {
    layer.q.bias = source.vector(w, prefix + "q_proj.bias", layer.q.base.rows);
    layer.k.bias = source.vector(w, prefix + "k_proj.bias", layer.k.base.rows);
    layer.v.bias = source.vector(w, prefix + "v_proj.bias", layer.v.base.rows);
  }
  if (w.config.qk_norm) {
    layer.q.head_norm = source.vector(w, prefix + "q_norm.weight", w.config.head_size);
    layer.k.head_norm = source.vector(w, prefix + "k_norm.weight", w.config.head_size);
  }
}

void load_base(Weights& w, const TensorSource& source) {
  const io::ModelConfig& c = w.config;
  const std::int64_t q = c.heads * c.head_size;
  const std::int64_t kv = c.kv_heads * c.head_size;
  w.embedding = source.matrix(w, "model.embed_tokens.weight", c.vocab, c.hidden);
  w.head = c.tied_embeddings ? w.embedding : source.matrix(w, "lm_head.weight", c.vocab, c.hidden);
  w.final_norm = source.vector(w, "model.norm.weight", c.hidden);
  w.layers.resize(static_cast<std::size_t>(c.layers));
  for (std::size_t l = 0; l < w.layers.size(); ++l) {
    Layer& layer = w.layers[l];
    const std::string prefix = fmt::format("model.layers.{}.", l);
    const auto projection = [&](const char* name, std::int64_t rows, std::int64_t cols) {
      return source.matrix(w, base_name(source, prefix + name), rows, cols);
    };
    layer.attention_norm = source.vector(w, prefix + "input_layernorm.weight", c.hidden);
    layer.mlp_norm = source.vector(w, prefix + "post_attention_layernorm.weight", c.hidden);
    layer.q.base = projection("self_attn.q_proj", q, c.hidden);
    layer.k.base = projection("self_attn.k_proj", kv, c.hidden);
    layer.v.base = projection("self_attn.v_proj", kv, c.hidden);
    load_attention_parts(w, source, layer, prefix + "self_attn.");
    layer.o = projection("self_attn.o_proj", c.hidden, q);
    layer.gate.base = projection("mlp.gate_proj", c.ffn, c.hidden);
    layer.up.base = projection("mlp.up_proj", c.ffn, c.hidden);
    layer.down.base = projection("mlp.down_proj", c.hidden, c.ffn);
  }
}

void load_lora(Weights& w, const TensorSource& source, Projection& p, const std::string& stem) {
  const std::int64_t r = w.memory->lora.rank;
  const auto set = [&](Lora& lora, const char* name) {
    lora.a = source.matrix_if_present(w, fmt::format("{}.lora_A.{}.weight", stem, name), r, p.base.cols);
    lora.b = source.matrix_if_present(w, fmt::format("{}.lora_B.{}.weight", stem, name), p.base.rows, r);
    if (lora.a.empty() != lora.b.empty())
      fail(ErrorCode::corrupt, "{}: {}: lora_A and lora_B of \"{}\" must come together", source.file(), stem,
           name);
  };
  set(p.write, "default");
  set(p.read, "decoder_adapter");
  // Without a read set of its own a checkpoint reads with the one set it has.
  if (!w.memory->has_read_lora) p.read = p.write;
}

RetrieverHead load_retriever_head(Weights& w, const TensorSource& source, const std::string& stem) {
  const std::int64_t d = w.config.hidden;
  const std::int64_t d_r = w.memory->d_r;
  if (w.memory->selector_depth != 2)
    return {.first = source.matrix(w, stem + ".weight", d_r, d), .second = {}};
  return {.first = source.matrix(w, stem + ".0.weight", 2 * d_r, d),
          .second = source.matrix(w, stem + ".2.weight", d_r, 2 * d_r)};
}

bool has_retriever(const io::MemoryConfig& memory, std::size_t layer) {
  const auto& chosen = memory.selector_layers;
  return memory.has_retriever &&
         (chosen.empty() ||
          std::find(chosen.begin(), chosen.end(), static_cast<std::int64_t>(layer)) != chosen.end());
}

// Adapters, bos and positional vectors, retriever: the names are the same in a published checkpoint and in a
// delta.
void load_memory_parts(Weights& w, const TensorSource& source) {
  const io::ModelConfig& c = w.config;
  const io::MemoryConfig& memory = *w.memory;
  w.lora_scale = memory.lora.rank > 0
                     ? static_cast<float>(memory.lora.alpha / static_cast<double>(memory.lora.rank))
                     : 0.0f;
  const ConstTensor bos =
      source.vector(w, "bos_embedding", c.layers * c.hidden).as_shape({c.layers, c.hidden});
  w.positional = source.vector(w, "new_memory_positional_emb", c.hidden);
  for (std::size_t l = 0; l < w.layers.size(); ++l) {
    Layer& layer = w.layers[l];
    const std::string prefix = fmt::format("model.layers.{}.", l);
    layer.bos = bos.rows(static_cast<std::int64_t>(l), 1);
    load_lora(w, source, layer.q, prefix + "self_attn.q_proj");
    load_lora(w, source, layer.k, prefix + "self_attn.k_proj");
    load_lora(w, source, layer.v, prefix + "self_attn.v_proj");
    load_lora(w, source, layer.gate, prefix + "mlp.gate_proj");
    load_lora(w, source, layer.up, prefix + "mlp.up_proj");
    load_lora(w, source, layer.down, prefix + "mlp.down_proj");
    if (!has_retriever(memory, l)) continue;
    layer.query = load_retriever_head(w, source, prefix + "self_attn.query_proj");
    layer.key = load_retriever_head(w, source, prefix + "self_attn.key_proj");
    if (memory.has_encoder_query)
      layer.encoder_query = load_retriever_head(w, source, prefix + "self_attn.encoder_query_proj");
  }
  const std::vector<std::int64_t> remembering = memory.layers.list(c.layers);
  const std::int64_t m = std::ssize(remembering);
  const float* votes =
      source.find("vote_weights") ? source.vector(w, "vote_weights", m).on_host<float>() : nullptr;
  if (votes || !memory.layers.is_all()) w.vote_weights.assign(w.layers.size(), 0.0);
  if (memory.talk) w.talk = source.vector(w, "talk", c.hidden + 1);
  w.has_vector_pool = source.find("vector_pool") != nullptr;
  ConstTensor pool;
  if (w.has_vector_pool) pool = source.vector(w, "vector_pool", m * c.hidden).as_shape({m, c.hidden});
  for (std::int64_t place = 0; place < m; ++place) {
    const auto l = static_cast<std::size_t>(remembering[static_cast<std::size_t>(place)]);
    if (!w.vote_weights.empty()) w.vote_weights[l] = votes ? static_cast<double>(votes[place]) : 1.0;
    if (!pool.empty()) w.layers[l].pool = pool.row(place);
  }
}

void check_sizes(const io::MemoryConfig& m, const std::string& file) {
  const auto positive = [&](const char* name, std::int64_t value) {
    if (value <= 0)
      fail(ErrorCode::corrupt, "{}: {}: expected a positive number, found {}", file, name, value);
  };
  positive("K", m.K);
  positive("N", m.N);
  positive("C", m.C);
  positive("W", m.W);
  if (m.N < m.K) fail(ErrorCode::corrupt, "{}: N: expected at least K = {}, found {}", file, m.K, m.N);
  if (m.has_retriever) positive("d_r", m.d_r);
}

InitialMemory load_initial_memory(Weights& w, const TensorSource& source) {
  const io::ModelConfig& c = w.config;
  InitialMemory initial;
  const Matrix all = source.matrix(w, "memory", c.layers * w.memory->N, c.hidden);
  for (std::int64_t l = 0; l < c.layers; ++l) {
    Matrix slots = all;
    slots.rows = w.memory->N;
    slots.data = all.row(l * w.memory->N);
    initial.short_term.push_back(slots);
  }
  if (!source.find("ltm.0")) return initial;
  for (std::int64_t l = 0; l < c.layers; ++l) {
    const std::int64_t n = source.at(fmt::format("ltm_ages.{}", l)).elements();
    const float* ages = source.vector(w, fmt::format("ltm_ages.{}", l), n).on_host<float>();
    initial.long_term.push_back({.hidden = source.matrix(w, fmt::format("ltm.{}", l), n, c.hidden),
                                 .key = source.matrix(w, fmt::format("ltm_keys.{}", l), n, w.memory->d_r),
                                 .ages = {ages, ages + n}});
  }
  return initial;
}

void load_hf_folder(Weights& w, const fs::path& folder) {
  const std::string config_file = (folder / "config.json").string();
  const std::string text = read_text_file(config_file);
  w.config = io::parse_hf_config(text, config_file);
  const io::Safetensors file = io::Safetensors::open(folder);
  w.owners.push_back(file.owner());
  const TensorSource source = TensorSource::from(file);
  if (!source.find("lm_head.weight")) w.config.tied_embeddings = true;
  load_base(w, source);
  // A published checkpoint is known by its tensors; its model_type may read "llama".
  if (!source.find("bos_embedding")) return;
  w.memory = io::parse_published_memory_config(text, config_file);
  if (!w.memory)
    fail(ErrorCode::corrupt,
         "{}: the tensors are those of M+ or MemoryLLM, but num_tokens and num_blocks are missing",
         config_file);
  check_sizes(*w.memory, config_file);
  load_memory_parts(w, source);
  if (source.find("memory")) w.initial_memory = load_initial_memory(w, source);
}

void load_gguf(Weights& w, const fs::path& path) {
  const io::Gguf file = io::Gguf::open(path);
  w.owners.push_back(file.owner());
  w.config = io::config_from_gguf(file);
  load_base(w, TensorSource::from(file, w.config));
}

void load_llama2c(Weights& w, const fs::path& path) {
  const io::Llama2cModel file = io::open_llama2c(path);
  w.owners.push_back(file.owner);
  w.config = file.config;
  load_base(w, TensorSource::from(file, path.string()));
}

void load_delta(Weights& w, const fs::path& path) {
  if (w.memory)
    fail(ErrorCode::invalid_argument,
         "{}: the model has a memory of its own; a delta goes on a plain base model", path.string());
  const io::Safetensors file = io::Safetensors::open(path);
  w.owners.push_back(file.owner());
  w.memory = io::delta_config(file);
  if (!w.memory->layers.fits(w.config.layers))
    fail(ErrorCode::model_mismatch, "{}: a memory in layers {}; the model has {} layers", path.string(),
         w.memory->layers.text(), w.config.layers);
  w.memory->layers = w.memory->layers.of(w.config.layers);
  check_sizes(*w.memory, path.string());
  if (w.memory->talk && w.memory->talk->layer >= w.config.layers)
    fail(ErrorCode::model_mismatch, "{}: metadata 'talk_layer': expected one of {} layers, found {}",
         path.string(), w.config.layers, w.memory->talk->layer);
  load_memory_parts(w, TensorSource::from(file));
}

}  // namespace

std::shared_ptr<const Weights> load_weights(const ModelFiles& files) {
  auto weights = std::make_shared<Weights>();
  const fs::path& model = files.model;
  weights->files = model.string();
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) {
    load_hf_folder(*weights, model);
  } else if (model.extension() == ".gguf") {
    load_gguf(*weights, model);
  } else if (model.extension() == ".bin") {
    load_llama2c(*weights, model);
  } else if (!fs::exists(model, ignored)) {
    fail(ErrorCode::not_found,
         "{}: no such model (a .gguf file or a folder with config.json and *.safetensors)", model.string());
  } else {
    fail(ErrorCode::unsupported, "{}: expected a .gguf file or a folder with config.json and *.safetensors",
         model.string());
  }
  if (files.delta) {
    weights->files += fmt::format(" and {}", files.delta->string());
    load_delta(*weights, *files.delta);
  }
  return weights;
}

}  // namespace mplus::model
