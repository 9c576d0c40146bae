#include "mplus/model/tensor_source.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/io/dequantise.h"

namespace mplus::model {
namespace {

// "model.layers.7.mlp.up_proj.weight" → "blk.7.ffn_up.weight"
std::string gguf_name(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kInLayer{{
      {"self_attn.q_proj.weight", "attn_q.weight"},
      {"self_attn.k_proj.weight", "attn_k.weight"},
      {"self_attn.v_proj.weight", "attn_v.weight"},
      {"self_attn.o_proj.weight", "attn_output.weight"},
      {"mlp.gate_proj.weight", "ffn_gate.weight"},
      {"mlp.up_proj.weight", "ffn_up.weight"},
      {"mlp.down_proj.weight", "ffn_down.weight"},
      {"input_layernorm.weight", "attn_norm.weight"},
      {"post_attention_layernorm.weight", "ffn_norm.weight"},
  }};
  if (name == "model.embed_tokens.weight") return "token_embd.weight";
  if (name == "model.norm.weight") return "output_norm.weight";
  if (name == "lm_head.weight") return "output.weight";
  constexpr std::string_view kPrefix = "model.layers.";
  if (!name.starts_with(kPrefix)) return std::string(name);
  const std::string_view rest = name.substr(kPrefix.size());
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return std::string(name);
  for (const auto& [hf, gguf] : kInLayer)
    if (rest.substr(dot + 1) == hf) return fmt::format("blk.{}.{}", rest.substr(0, dot), gguf);
  return std::string(name);
}

bool aligned(const io::Tensor& tensor) {
  std::size_t unit = block_bytes(tensor.dtype);
  if (is_quantised(tensor.dtype)) unit = alignof(std::uint16_t);
  return reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % unit == 0;
}

std::byte* own(Weights& owner, std::size_t size_bytes) {
  auto copy = std::make_shared<AlignedVector<std::byte>>(size_bytes);
  std::byte* data = copy->data();
  owner.owners.push_back(std::move(copy));
  return data;
}

bool usable(DType t) { return is_float(t) || is_quantised(t) || t == DType::i8; }

}  // namespace

TensorSource TensorSource::from(const io::Safetensors& file) {
  TensorSource source;
  source.find_ = [file](std::string_view name) { return file.find(name); };
  source.permuted_heads_ = [](std::string_view) { return std::int64_t{0}; };
  source.file_ = file.path().string();
  return source;
}

TensorSource TensorSource::from(const io::Gguf& file, const io::ModelConfig& config) {
  TensorSource source;
  source.find_ = [file](std::string_view name) { return file.find(gguf_name(name)); };
  source.permuted_heads_ = [config](std::string_view name) {
    if (name.ends_with(".q_proj.weight")) return config.heads;
    if (name.ends_with(".k_proj.weight")) return config.kv_heads;
    return std::int64_t{0};
  };
  source.file_ = file.path().string();
  return source;
}

TensorSource TensorSource::from(const io::Llama2cModel& file, std::string name) {
  TensorSource source;
  source.find_ = [file](std::string_view wanted) -> const io::Tensor* {
    const auto at = file.tensors.find(wanted);
    return at == file.tensors.end() ? nullptr : &at->second;
  };
  source.permuted_heads_ = [](std::string_view) { return std::int64_t{0}; };
  source.file_ = std::move(name);
  return source;
}

const io::Tensor& TensorSource::at(std::string_view name) const {
  const io::Tensor* tensor = find_(name);
  if (!tensor) fail(ErrorCode::not_found, "{}: tensor \"{}\" is missing", file_, name);
  return *tensor;
}

Matrix TensorSource::matrix(Weights& owner, std::string_view name, std::int64_t rows,
                            std::int64_t cols) const {
  const io::Tensor& tensor = at(name);
  Matrix m = tensor.matrix();
  if (m.rows != rows || m.cols != cols)
    fail(ErrorCode::model_mismatch, "{}: tensor \"{}\": expected shape [{}, {}], found {}", file_,
         tensor.name, rows, cols, io::shape_text(tensor.shape));
  if (!usable(m.dtype))
    fail(ErrorCode::unsupported, "{}: tensor \"{}\": type {} cannot hold weights", file_, tensor.name,
         dtype_name(m.dtype));
  if (m.dtype == DType::i8) m.row_scales = vector(owner, std::string(name) + "_scale", rows);
  const std::int64_t heads = permuted_heads_(name);
  if (heads > 0 || !aligned(tensor)) {
    std::byte* copy = own(owner, tensor.bytes.size());
    if (heads > 0) {
      io::unpermute_rows(copy, tensor.bytes.data(), rows, m.row_size_bytes(), heads);
    } else {
      std::memcpy(copy, tensor.bytes.data(), tensor.bytes.size());
    }
    m.data = copy;
  }
  return m;
}

Matrix TensorSource::matrix_if_present(Weights& owner, std::string_view name, std::int64_t rows,
                                       std::int64_t cols) const {
  return find_(name) ? matrix(owner, name, rows, cols) : Matrix{};
}

const float* TensorSource::vector(Weights& owner, std::string_view name, std::int64_t n) const {
  const io::Tensor& tensor = at(name);
  if (tensor.elements() != n || !is_float(tensor.dtype))
    fail(ErrorCode::model_mismatch, "{}: tensor \"{}\": expected {} floats, found {} of type {}", file_,
         tensor.name, n, io::shape_text(tensor.shape), dtype_name(tensor.dtype));
  auto values = std::make_shared<std::vector<float>>(io::dequantise(tensor));
  const float* data = values->data();
  owner.owners.push_back(std::move(values));
  return data;
}

}  // namespace mplus::model
