// The shape of a decoder from GGUF metadata.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

#include "mplus/core/error.h"
#include "mplus/io/config/config_limits.h"
#include "mplus/io/config/model_config.h"
#include "mplus/io/text/names.h"
#include "mplus/io/weights/dequantise.h"

namespace mplus::io {
namespace {

// Metadata about the model is kept under its architecture's name.
std::string model_key(const ModelConfig& c, std::string_view name) {
  return fmt::format("{}.{}", c.architecture, name);
}

std::int64_t size_field(const Gguf& file, std::string_view key, std::int64_t most,
                        std::optional<std::int64_t> fallback = std::nullopt) {
  const auto n = file.get_i64(key);
  if (!n && fallback) return *fallback;
  if (!n || *n < 1 || *n > most)
    fail(ErrorCode::corrupt, "{}: metadata '{}': expected an integer from 1 to {}, found {}",
         file.path().string(), key, most, n ? fmt::format("{}", *n) : "nothing");
  return *n;
}

double positive_field(const Gguf& file, std::string_view key, double fallback) {
  const double value = file.get_f64(key).value_or(fallback);
  if (!(value > 0) || !std::isfinite(value))
    fail(ErrorCode::corrupt, "{}: metadata '{}': expected a number above 0, found {}", file.path().string(),
         key, value);
  return value;
}

std::string read_architecture(const Gguf& file) {
  const auto architecture = file.get_string("general.architecture");
  if (architecture != "llama" && architecture != "qwen2" && architecture != "qwen3")
    fail(ErrorCode::unsupported,
         "{}: metadata 'general.architecture': expected 'llama', 'qwen2' or 'qwen3', found {}",
         file.path().string(), architecture ? shown(*architecture) : "nothing");
  return *architecture;
}

// A tensor that means a computation this program does not do.
bool is_strange(const std::string& tensor, const ModelConfig& c) {
  const auto ends_with_one = [&](std::initializer_list<const char*> endings) {
    return std::ranges::any_of(endings, [&](const char* ending) { return tensor.ends_with(ending); });
  };
  if (tensor.ends_with(".bias"))
    return !c.qkv_bias || !ends_with_one({".attn_q.bias", ".attn_k.bias", ".attn_v.bias"});
  if (ends_with_one({".attn_q_norm.weight", ".attn_k_norm.weight"})) return !c.qk_norm;
  return false;
}

void check_kind(const Gguf& file, const ModelConfig& c) {
  const std::string name = file.path().string();
  if (const auto parts = file.get_u64("split.count").value_or(1); parts > 1)
    fail(ErrorCode::unsupported,
         "{}: metadata 'split.count': expected one file, found one of {}: merge them first", name, parts);
  const std::string key = model_key(c, "expert_count");
  if (const auto experts = file.get_u64(key).value_or(0); experts > 0)
    fail(ErrorCode::unsupported, "{}: metadata '{}': expected 0, found {}", name, key, experts);
  for (const auto& [tensor, ignored] : file.tensors())
    if (is_strange(tensor, c))
      fail(ErrorCode::unsupported, "{}: tensor {}: expected none of this name in architecture {}", name,
           shown(tensor), c.architecture);
}

// By how much Llama 3's rule divides the frequency of wavelength 2π/frequency.
double llama3_divisor(const RopeScaling& s, double frequency) {
  const double turns = static_cast<double>(s.original_context) * frequency / (2 * std::numbers::pi);
  if (turns > s.high_freq_factor) return 1;
  if (turns < s.low_freq_factor) return s.factor;
  const double smooth = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return 1 / ((1 - smooth) / s.factor + smooth);
}

// Converters store the divisors, not the rule. All models so far use low 1, high 4 and 8192; the factor is
// the largest divisor. Accepted only if the rule gives back every stored value.
RopeScaling recognise_scaling(const Gguf& file, const ModelConfig& c) {
  const DType f32 = DType::f32;
  const std::int64_t half = c.head_size / 2;
  const Tensor& tensor = file.at("rope_freqs.weight", std::span(&f32, 1), std::span(&half, 1));
  const std::vector<float> divisors = dequantise(tensor);
  const RopeScaling rule{*std::ranges::max_element(divisors), 1, 4, 8192};
  constexpr double kTolerance = 1e-4;  // some converters computed in float32
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double frequency =
        std::pow(c.rope_theta, -2.0 * static_cast<double>(i) / static_cast<double>(c.head_size));
    const double expected = llama3_divisor(rule, frequency);
    if (!(std::abs(divisors[i] - expected) <= kTolerance * expected))
      fail(ErrorCode::unsupported,
           "{}: tensor 'rope_freqs.weight': expected Llama 3's rule with factor {} ({} at {}), found {}",
           file.path().string(), rule.factor, expected, i, divisors[i]);
  }
  return rule;
}

void read_rope(const Gguf& file, ModelConfig& c) {
  c.rope_theta = positive_field(file, model_key(c, "rope.freq_base"), 10000.0);
  const std::string dimensions = model_key(c, "rope.dimension_count");
  const auto rotated = size_field(file, dimensions, kMostHidden, c.head_size);
  if (rotated != c.head_size)
    fail(ErrorCode::unsupported, "{}: metadata '{}': expected the head size {}, found {}",
         file.path().string(), dimensions, c.head_size, rotated);
  const std::string scaling = model_key(c, "rope.scaling.type");
  const std::string type = file.get_string(scaling).value_or("none");
  const bool plain = type == "none" ||
                     (type == "linear" && file.get_f64(model_key(c, "rope.scaling.factor")).value_or(1) == 1);
  if (!plain)
    fail(ErrorCode::unsupported, "{}: metadata '{}': expected 'none', found {}", file.path().string(),
         scaling, shown(type));
  if (file.find("rope_freqs.weight") != nullptr) c.rope_scaling = recognise_scaling(file, c);
}

// Keys and values are of one size here; a file may say both.
std::int64_t read_head_size(const Gguf& file, const ModelConfig& c) {
  const std::string key = model_key(c, "attention.key_length"),
                    value = model_key(c, "attention.value_length");
  const std::int64_t size = file.find_metadata(key) != nullptr
                                ? size_field(file, key, kMostHidden)
                                : default_head_size(c.hidden, c.heads, file.path().string());
  if (const auto other = size_field(file, value, kMostHidden, size); other != size)
    fail(ErrorCode::unsupported, "{}: metadata '{}': expected the keys' size {}, found {}",
         file.path().string(), value, size, other);
  return size;
}

void read_special_ids(const Gguf& file, ModelConfig& c) {
  for (const auto* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"})
    if (const auto id = file.get_i64(key); id && std::ranges::find(c.eos_ids, *id) == c.eos_ids.end())
      c.eos_ids.push_back(*id);
  c.bos_id = file.get_i64("tokenizer.ggml.bos_token_id");
  // Where the file is silent, its tokenizer's kind decides.
  const std::string pre = file.get_string("tokenizer.ggml.pre").value_or("");
  const bool usual = file.get_string("tokenizer.ggml.model").value_or("") == "llama" || pre == "llama-bpe" ||
                     pre == "llama3" || pre == "llama-v3";
  c.add_bos = file.get_bool("tokenizer.ggml.add_bos_token").value_or(usual);
}

}  // namespace

ModelConfig config_from_gguf(const Gguf& file) {
  ModelConfig c;
  c.architecture = read_architecture(file);
  c.qkv_bias = c.architecture == "qwen2";
  c.qk_norm = c.architecture == "qwen3";
  check_kind(file, c);
  c.layers = size_field(file, model_key(c, "block_count"), kMostLayers);
  c.hidden = size_field(file, model_key(c, "embedding_length"), kMostHidden);
  c.heads = size_field(file, model_key(c, "attention.head_count"), kMostHeads);
  c.kv_heads = size_field(file, model_key(c, "attention.head_count_kv"), kMostHeads, c.heads);
  c.head_size = read_head_size(file, c);
  c.ffn = size_field(file, model_key(c, "feed_forward_length"), kMostFfn);
  c.context = size_field(file, model_key(c, "context_length"), kMostContext);
  const std::string epsilon = model_key(c, "attention.layer_norm_rms_epsilon");
  c.norm_epsilon = checked_epsilon(file.get_f64(epsilon).value_or(0),
                                   fmt::format("{}: metadata '{}'", file.path().string(), epsilon));
  check_heads(c, file.path().string());
  read_rope(file, c);
  const std::int64_t embedding_shape[] = {-1, c.hidden};
  c.vocab = file.at("token_embd.weight", {}, embedding_shape).shape[0];
  c.tied_embeddings = file.find("output.weight") == nullptr;
  read_special_ids(file, c);
  return c;
}

}  // namespace mplus::io
