#include "mplus/model/files/save.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/files/private_file.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/model/files/tensor_output.h"

namespace mplus::model {
namespace {

namespace fs = std::filesystem;

struct NamedProjection {
  const char* name;
  Projection Layer::*member;
};
constexpr std::array<NamedProjection, 6> kProjections{{{"self_attn.q_proj", &Layer::q},
                                                       {"self_attn.k_proj", &Layer::k},
                                                       {"self_attn.v_proj", &Layer::v},
                                                       {"mlp.gate_proj", &Layer::gate},
                                                       {"mlp.up_proj", &Layer::up},
                                                       {"mlp.down_proj", &Layer::down}}};
constexpr float kRecallFrequency = 10;  // the released code's lives of a token; ours expire by capacity alone

DType own_dtype(const Matrix& m) { return is_float(m.dtype) || m.dtype == DType::i8 ? m.dtype : DType::f32; }

const char* torch_name(DType dtype) {
  return dtype == DType::f32 ? "float32" : dtype == DType::bf16 ? "bfloat16" : "float16";
}

// Written under another name and renamed when complete.
template <class Write>
void write_folder(const fs::path& folder, Readers readers, const Write& write) {
  std::error_code error;
  if (fs::exists(folder, error))
    fail(ErrorCode::io, "{}: is there already; name a new folder", folder.string());
  fs::path place = folder.has_filename() ? folder : folder.parent_path();
  const fs::path temporary = temporary_name(place);
  if (!fs::create_directory(temporary, error))
    fail(ErrorCode::io, "{}: cannot create a folder there", folder.string());
  try {
    if (readers == Readers::owner) make_private(temporary);
    write(temporary);
    if (readers == Readers::owner) make_all_private(temporary);
    fs::rename(temporary, place);
  } catch (...) {
    fs::remove_all(temporary, error);
    throw;
  }
}

std::string layer_prefix(std::size_t l) { return fmt::format("model.layers.{}.", l); }

// `wrapped`: as peft names what an adapter touches.
void add_base(TensorOutput& out, const Weights& w, bool wrapped) {
  const std::int64_t d = w.config.hidden;
  const char* ending = wrapped ? ".base_layer.weight" : ".weight";
  out.add("model.embed_tokens.weight", w.embedding);
  if (!w.config.tied_embeddings) out.add("lm_head.weight", w.head);
  out.add("model.norm.weight", {d}, w.final_norm.on_host<float>());
  for (std::size_t l = 0; l < w.layers.size(); ++l) {
    const Layer& layer = w.layers[l];
    out.add(layer_prefix(l) + "input_layernorm.weight", {d}, layer.attention_norm.on_host<float>());
    out.add(layer_prefix(l) + "post_attention_layernorm.weight", {d}, layer.mlp_norm.on_host<float>());
    out.add(layer_prefix(l) + "self_attn.o_proj.weight", layer.o);
    for (const auto& [name, member] : kProjections) {
      const Projection& projection = layer.*member;
      out.add(layer_prefix(l) + name + ending, projection.base);
      if (!projection.bias.empty())
        out.add(layer_prefix(l) + name + ".bias", {projection.base.rows}, projection.bias.on_host<float>());
    }
    const std::int64_t e = w.config.head_size;
    if (!layer.q.head_norm.empty())
      out.add(layer_prefix(l) + "self_attn.q_norm.weight", {e}, layer.q.head_norm.on_host<float>());
    if (!layer.k.head_norm.empty())
      out.add(layer_prefix(l) + "self_attn.k_norm.weight", {e}, layer.k.head_norm.on_host<float>());
  }
}

void add_lora(TensorOutput& out, const std::string& stem, const char* set, const Lora& lora) {
  if (lora.a.empty()) return;
  out.add(fmt::format("{}.lora_A.{}.weight", stem, set), lora.a);
  out.add(fmt::format("{}.lora_B.{}.weight", stem, set), lora.b);
}

void add_head(TensorOutput& out, const std::string& stem, const RetrieverHead& head) {
  if (head.empty()) return;
  out.add(stem + (head.second.empty() ? ".weight" : ".0.weight"), head.first);
  if (!head.second.empty()) out.add(stem + ".2.weight", head.second);
}

void append(std::vector<float>& to, const ConstTensor& values) {
  if (values.empty()) return;
  const float* from = values.on_host<float>();
  to.insert(to.end(), from, from + values.elements());
}

void add_memory_parts(TensorOutput& out, const Weights& w) {
  const std::int64_t d = w.config.hidden;
  std::vector<float> bos;
  for (const Layer& layer : w.layers) append(bos, layer.bos);
  out.add("bos_embedding", {w.config.layers, 1, d}, bos.data());
  out.add("new_memory_positional_emb", {1, 1, d}, w.positional.on_host<float>());
  for (std::size_t l = 0; l < w.layers.size(); ++l) {
    const Layer& layer = w.layers[l];
    for (const auto& [name, member] : kProjections) {
      add_lora(out, layer_prefix(l) + name, "default", (layer.*member).write);
      if (w.memory->has_read_lora)
        add_lora(out, layer_prefix(l) + name, "decoder_adapter", (layer.*member).read);
    }
    add_head(out, layer_prefix(l) + "self_attn.query_proj", layer.query);
    add_head(out, layer_prefix(l) + "self_attn.key_proj", layer.key);
    add_head(out, layer_prefix(l) + "self_attn.encoder_query_proj", layer.encoder_query);
  }
}

// Hidden states, keys and ages of the long-term rows of one layer, in store order.
void add_long_term(TensorOutput& out, const memory::Memory& memory, std::int64_t l) {
  const memory::Layout& layout = memory.layout();
  std::vector<float> hidden, ages, keys;
  memory.long_term().for_each(l, [&](memory::RowId id, std::int64_t birth) {
    const memory::RowsView rows = memory.long_term().rows_of(l, id);
    const std::int64_t at = id.row;
    const float* states = rows.hidden_row(layout, at);
    hidden.insert(hidden.end(), states, states + layout.hidden);
    keys.resize(keys.size() + static_cast<std::size_t>(layout.retriever));
    rows.expand_key(layout, keys.data() + keys.size() - layout.retriever, at);
    ages.push_back(static_cast<float>(memory.updates() * layout.K - 1 - birth));
  });
  const auto n = static_cast<std::int64_t>(ages.size());
  out.add(fmt::format("ltm.{}", l), {n, layout.hidden}, hidden.data());
  out.add(fmt::format("ltm_keys.{}", l), {n, layout.retriever}, keys.data());
  out.add_f32(fmt::format("ltm_ages.{}", l), {n}, ages);
  out.add_f32(fmt::format("ltm_recall_frequencies.{}", l), {n},
              std::vector<float>(static_cast<std::size_t>(n), kRecallFrequency));
}

void add_memory(TensorOutput& out, const memory::Memory& memory) {
  const memory::Layout& layout = memory.layout();
  if (!layout.keep_hidden)
    fail(ErrorCode::unsupported,
         "the published layout holds hidden states, and this memory was begun without keeping them");
  std::vector<float> slots;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView rows = memory.short_term(l);
    if (rows.n != layout.N)
      fail(ErrorCode::unsupported,
           "the published layout has no place for a memory that is not full: {} of {} slots", rows.n,
           layout.N);
    for (std::int64_t r = 0; r < rows.n; ++r)
      slots.insert(slots.end(), rows.hidden_row(layout, r), rows.hidden_row(layout, r) + layout.hidden);
    if (layout.has_long_term()) add_long_term(out, memory, l);
  }
  out.add("memory", {layout.layers, layout.N, layout.hidden}, slots.data());
}

std::vector<std::byte> bytes_of(const io::Tensor& tensor) {
  return {tensor.bytes.begin(), tensor.bytes.end()};
}

// Which of a delta's memories are kept, and what of its tensors goes with the others.
class KeptLayers {
 public:
  KeptLayers(const io::Safetensors& delta, const LayerSet& before, const LayerSet& kept) {
    const io::Tensor& bos = delta.at("bos_embedding");
    const std::int64_t L = bos.shape.empty() ? 0 : bos.shape.front();
    if (L < 1 || !before.fits(L))
      fail(ErrorCode::corrupt, "{}: tensor \"bos_embedding\": shape {} does not fit a memory in layers {}",
           delta.path().string(), io::shape_text(bos.shape), before.text());
    before_ = before.count(L);
    const LayerSet wanted = kept.is_all() ? before : kept;
    for (const std::int64_t l : wanted.list(L)) {
      if (l >= L || !before.contains(l))
        fail(ErrorCode::invalid_argument, "{}: layers {}: it has a memory in layers {}",
             delta.path().string(), wanted.text(), LayerSet(before.list(L)).text());
      places_.push_back(before.place(l));
    }
    set_ = wanted.of(L);
    for (std::int64_t l = 0; l < L; ++l)
      for (const char* head : {"query_proj", "key_proj", "encoder_query_proj"})
        if (!set_.contains(l)) gone_.push_back(fmt::format("model.layers.{}.self_attn.{}.", l, head));
  }

  const LayerSet& set() const { return set_; }
  const std::vector<std::int64_t>& places() const { return places_; }  // of them among those there were
  bool leaves_out(std::string_view name) const {
    return std::any_of(gone_.begin(), gone_.end(),
                       [&](const std::string& prefix) { return name.starts_with(prefix); });
  }
  // Of a tensor with a row for each layer that has a memory.
  std::vector<std::byte> rows_of(const io::Tensor& tensor) const {
    if (tensor.shape.empty() || tensor.shape.front() != before_)
      fail(ErrorCode::corrupt, "tensor \"{}\": expected a row for each of {} layers, found shape {}",
           tensor.name, before_, io::shape_text(tensor.shape));
    const std::size_t size = tensor.bytes.size() / static_cast<std::size_t>(before_);
    std::vector<std::byte> rows;
    for (const std::int64_t place : places_) {
      const auto row = tensor.bytes.subspan(static_cast<std::size_t>(place) * size, size);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }

 private:
  LayerSet set_;
  std::int64_t before_ = 0;  // layers with a memory
  std::vector<std::int64_t> places_;
  std::vector<std::string> gone_;  // beginnings of names
};

void require_memory(const Weights& w, const char* what) {
  if (!w.memory)
    fail(ErrorCode::invalid_argument, "{}: this model is a plain decoder; name a delta for it", what);
}

}  // namespace

void save_base(const Weights& w, const fs::path& folder, std::optional<DType> dtype) {
  write_folder(folder, Readers::by_umask, [&](const fs::path& into) {
    TensorOutput out(dtype.value_or(own_dtype(w.embedding)));
    add_base(out, w, false);
    out.write(into / "model.safetensors", {{"format", "pt"}});
    write_text_file(into / "config.json", io::hf_config_json(w.config, torch_name(out.dtype())),
                    Readers::by_umask);
  });
}

void save_delta(const Weights& w, const fs::path& file, std::optional<DType> dtype) {
  require_memory(w, "delta");
  if (!w.memory->drop_per_layer)
    fail(ErrorCode::unsupported,
         "delta: this checkpoint drops the same slots in all layers; a delta cannot say so");
  const Matrix& first = w.layers.front().q.write.a;
  TensorOutput out(dtype.value_or(first.empty() ? DType::f32 : own_dtype(first)));
  add_memory_parts(out, w);
  std::vector<float> votes, pool;  // of the layers that keep a memory
  for (const std::int64_t layer : w.memory->layers.list(w.config.layers)) {
    const auto l = static_cast<std::size_t>(layer);
    if (!w.vote_weights.empty()) votes.push_back(static_cast<float>(w.vote_weights[l]));
    append(pool, w.layers[l].pool);
  }
  const std::int64_t m = w.memory->layers.count(w.config.layers);
  if (!votes.empty()) out.add_f32("vote_weights", {m}, votes);
  if (!pool.empty()) out.add_f32("vector_pool", {m, w.config.hidden}, pool);
  if (!w.talk.empty()) {
    std::vector<float> talk;
    append(talk, w.talk);
    out.add_f32("talk", {std::ssize(talk)}, talk);
  }
  out.write(file, io::delta_metadata(*w.memory));
}

void save_published(const Weights& w, const memory::Memory* memory, const fs::path& folder,
                    std::optional<DType> dtype) {
  require_memory(w, "published layout");
  if (w.config.architecture != "llama")
    fail(ErrorCode::unsupported, "published layout: it is a Llama's, and this model is a {}; write a delta",
         w.config.architecture);
  const std::int64_t long_term = memory && memory->layout().has_long_term() ? memory->long_term().size(0) : 0;
  TensorOutput out(dtype.value_or(own_dtype(w.embedding)));
  const std::string config =
      io::published_config_json(w.config, *w.memory, torch_name(out.dtype()), long_term);
  add_base(out, w, true);
  add_memory_parts(out, w);
  if (memory) add_memory(out, *memory);
  if (!w.memory->has_retriever) out.add_bytes("initialized", DType::u8, {}, {std::byte{1}});
  write_folder(folder, memory ? Readers::owner : Readers::by_umask, [&](const fs::path& into) {
    out.write(into / "model.safetensors", {{"format", "pt"}});
    write_text_file(into / "config.json", config, Readers::by_umask);
  });
}

void convert_delta(const fs::path& from, const fs::path& to, DType dtype, const LayerSet& layers,
                   std::optional<std::int64_t> rows) {
  const io::Safetensors file = io::Safetensors::open(from);
  const io::MemoryConfig config = io::delta_config(file);
  if (rows && (*rows < 1 || *rows > config.K))
    fail(ErrorCode::invalid_argument,
         "{}: a write of it leaves {} rows in a layer; fewer can be kept, got {}", from.string(), config.K,
         *rows);
  const KeptLayers kept(file, config.layers, layers);
  TensorOutput out(dtype);
  for (const auto& [name, tensor] : file.tensors()) {
    const bool scale = name.ends_with("_scale") && file.find(name.substr(0, name.size() - 6));
    if (scale || kept.leaves_out(name)) continue;
    if (tensor.shape.size() != 2 || name == "vector_pool") {
      const bool by_layer = name == "vote_weights" || name == "vector_pool";
      std::vector<std::int64_t> shape = tensor.shape;
      if (by_layer) shape.front() = std::ssize(kept.places());
      out.add_bytes(name, tensor.dtype, shape, by_layer ? kept.rows_of(tensor) : bytes_of(tensor));
      continue;
    }
    Matrix matrix = tensor.matrix();
    std::vector<float> scales;
    if (matrix.dtype == DType::i8) {
      scales = io::dequantise(file.at(name + "_scale", {DType::f32, DType::bf16}, {matrix.rows, 1}));
      matrix.row_scales = scales.data();
    } else if (!is_float(matrix.dtype)) {
      fail(ErrorCode::corrupt, "{}: tensor \"{}\": type {} cannot hold weights", from.string(), name,
           dtype_name(matrix.dtype));
    }
    out.add(name, matrix);
  }
  io::StringMap metadata = file.metadata();
  if (dtype != DType::i8) metadata.erase("quantisation");
  if (!kept.set().is_all()) metadata["memory_layers"] = kept.set().text();
  if (rows) metadata["K"] = std::to_string(*rows);
  out.write(to, metadata);
}

}  // namespace mplus::model
