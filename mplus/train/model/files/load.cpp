#include "mplus/train/model/files/load.h"

#include <functional>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/gguf/gguf_names.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

// Tensors of a file by their Hugging Face names, as floats.
class Source {
 public:
  explicit Source(const io::Safetensors& file) : name_(file.path().string()) {
    find_ = [file](std::string_view name) { return file.find(name); };
    heads_ = [](std::string_view) { return std::int64_t{0}; };
  }
  Source(const io::Gguf& file, const io::ModelConfig& config) : name_(file.path().string()) {
    find_ = [file](std::string_view name) { return file.find(io::gguf_name(name)); };
    heads_ = [config](std::string_view name) { return io::gguf_permuted_heads(name, config); };
  }

  bool has(std::string_view name) const { return find_(name) != nullptr; }
  const std::string& name() const { return name_; }
  std::int64_t elements(std::string_view name) const { return at(name).elements(); }

  // The tensor in the given shape; what stands in the file may have dims of 1 more.
  Tensor floats(std::string_view name, const std::vector<std::int64_t>& shape) const {
    const io::Tensor& found = at(name);
    if (found.elements() != io::element_count(shape))
      fail(ErrorCode::model_mismatch, "{}: tensor \"{}\": expected shape {}, found {}", name_, found.name,
           io::shape_text(shape), io::shape_text(found.shape));
    Matrix rows = found.matrix();
    std::vector<float> scales;
    if (found.dtype == DType::i8) {  // rows of integers with a scale each
      scales = io::dequantise(at(std::string(name) + "_scale"));
      if (static_cast<std::int64_t>(scales.size()) != rows.rows)
        fail(ErrorCode::model_mismatch, "{}: tensor \"{}_scale\": expected {} numbers, found {}", name_,
             found.name, rows.rows, scales.size());
      rows.row_scales = scales.data();
    }
    std::vector<std::byte> ordered;
    if (const std::int64_t heads = heads_(name); heads > 0) {
      ordered.resize(found.bytes.size());
      io::unpermute_rows(ordered.data(), found.bytes.data(), rows.rows, rows.row_size_bytes(), heads);
      rows.data = ordered.data();
    }
    Tensor values = torch::empty({rows.rows, rows.cols}, torch::kFloat32);
    for (std::int64_t r = 0; r < rows.rows; ++r)
      io::dequantise_row(values.data_ptr<float>() + r * rows.cols, rows, r);
    return values.reshape(shape);
  }

 private:
  const io::Tensor& at(std::string_view name) const {
    const io::Tensor* tensor = find_(name);
    if (!tensor) fail(ErrorCode::not_found, "{}: tensor \"{}\" is missing", name_, name);
    return *tensor;
  }

  std::function<const io::Tensor*(std::string_view)> find_;
  std::function<std::int64_t(std::string_view)> heads_;
  std::string name_;
};

// A projection's name in the base: peft wraps what an adapter touches.
std::string name_in(const Source& source, std::string name) {
  if (source.has(name) || !name.ends_with(".weight")) return name;
  const std::string wrapped =
      name.substr(0, name.size() - std::string_view("weight").size()) + "base_layer.weight";
  return source.has(wrapped) ? wrapped : name;
}

void load_parts(Model& model, const Source& source, bool base, torch::Dtype dtype) {
  for (const Parameter& p : parameters(model)) {
    if ((p.part == ParameterPart::base) != base) continue;
    if (!p.stacked()) {
      *p.tensor = source.floats(p.name, p.shape).to(dtype);
      continue;
    }
    std::vector<Tensor> layers;
    for (std::size_t i = 0; i < p.layers.size(); ++i)
      layers.push_back(source.floats(name_in(source, p.layer_name(i)), p.shape));
    *p.tensor = torch::stack(layers).to(dtype);
  }
  if (base && model.config.tied_embeddings) model.base.head = model.base.embedding;
  // Without a read set of its own a checkpoint reads with the one set it has.
  if (!base && !model.memory.has_read_lora) model.read = model.write;
}

void check_memory(const Model& model, const std::string& file) {
  const io::MemoryConfig& m = model.memory;
  if (m.K <= 0 || m.N < m.K || m.lora.rank <= 0)
    fail(ErrorCode::corrupt, "{}: expected K > 0, N ≥ K and a rank > 0, found K = {}, N = {}, rank {}", file,
         m.K, m.N, m.lora.rank);
  if (!m.layers.fits(model.config.layers))
    fail(ErrorCode::model_mismatch, "{}: a memory in layers {}; the model has {} layers", file,
         m.layers.text(), model.config.layers);
  if (m.has_retriever && !m.selector_layers.empty() &&
      m.selector_layers != m.layers.list(model.config.layers))
    fail(ErrorCode::unsupported,
         "{}: a retriever in {} of the {} layers that keep a memory; the trainer needs one in each", file,
         m.selector_layers.size(), model.memory_layers());
}

InitialMemory load_memory(const Model& model, const Source& source, torch::Dtype dtype) {
  const std::int64_t L = model.config.layers, d = model.config.hidden;
  InitialMemory memory{.short_term = source.floats("memory", {L, model.memory.N, d}).to(dtype),
                       .long_term = {}};
  if (!source.has("ltm.0")) return memory;
  for (std::int64_t l = 0; l < L; ++l) {
    const std::int64_t n = source.elements(fmt::format("ltm_ages.{}", l));
    const Tensor ages = source.floats(fmt::format("ltm_ages.{}", l), {n});
    memory.long_term.push_back(
        {.hidden = source.floats(fmt::format("ltm.{}", l), {n, d}).to(dtype),
         .key = source.floats(fmt::format("ltm_keys.{}", l), {n, model.memory.d_r}).to(dtype),
         .birth = -1 - ages.to(torch::kInt64)});
  }
  return memory;
}

LoadedModel load_folder(const fs::path& folder, torch::Dtype dtype) {
  LoadedModel loaded;
  Model& model = loaded.model;
  const std::string config_file = (folder / "config.json").string();
  const std::string text = read_text_file(config_file);
  model.config = io::parse_hf_config(text, config_file);
  const Source source(io::Safetensors::open(folder));
  if (!source.has("lm_head.weight")) model.config.tied_embeddings = true;
  load_parts(model, source, true, dtype);
  if (!source.has("bos_embedding")) return loaded;
  const auto memory = io::parse_published_memory_config(text, config_file);
  if (!memory)
    fail(ErrorCode::corrupt, "{}: the tensors are those of M+, but num_tokens and num_blocks are missing",
         config_file);
  model.memory = *memory;
  check_memory(model, config_file);
  load_parts(model, source, false, dtype);
  if (source.has("memory")) loaded.memory = load_memory(model, source, dtype);
  return loaded;
}

void load_delta(Model& model, const fs::path& file, torch::Dtype dtype) {
  if (model.memory.K > 0)
    fail(ErrorCode::invalid_argument,
         "{}: the model has a memory of its own; a delta goes on a plain base model", file.string());
  const io::Safetensors delta = io::Safetensors::open(file);
  model.memory = io::delta_config(delta);
  check_memory(model, file.string());
  model.memory.layers = model.memory.layers.of(model.config.layers);
  // The files say which of these there are: parameters() lists those that are defined.
  if (delta.find("vote_weights")) model.vote_weights = torch::ones({model.memory_layers()}, dtype);
  if (delta.find("vector_pool"))
    model.vector_pool = torch::zeros({model.memory_layers(), model.config.hidden}, dtype);
  load_parts(model, Source(delta), false, dtype);
}

}  // namespace

LoadedModel load_model(const ModelFiles& files, torch::Dtype dtype) {
  LoadedModel loaded;
  std::error_code ignored;
  if (fs::is_directory(files.model, ignored)) {
    loaded = load_folder(files.model, dtype);
  } else {
    const io::Gguf file = io::Gguf::open(files.model);
    loaded.model.config = io::config_from_gguf(file);
    load_parts(loaded.model, Source(file, loaded.model.config), true, dtype);
  }
  if (files.delta) load_delta(loaded.model, *files.delta, dtype);
  place(loaded.model, torch::kCPU, dtype);
  return loaded;
}

}  // namespace mplus::train
