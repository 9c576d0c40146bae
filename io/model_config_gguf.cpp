// The shape of a Llama from GGUF metadata.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "mplus/core/error.h"
#include "mplus/io/config_limits.h"
#include "mplus/io/dequantise.h"
#include "mplus/io/model_config.h"
#include "mplus/io/names.h"

namespace mplus::io {
namespace {

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

void check_kind(const Gguf& file) {
  const std::string name = file.path().string();
  const auto architecture = file.get_string("general.architecture");
  if (architecture != "llama")
    fail(ErrorCode::unsupported, "{}: metadata 'general.architecture': expected 'llama', found {}", name,
         architecture ? shown(*architecture) : "nothing");
  if (const auto parts = file.get_u64("split.count").value_or(1); parts > 1)
    fail(ErrorCode::unsupported,
         "{}: metadata 'split.count': expected one file, found one of {}: merge them first", name, parts);
  if (const auto experts = file.get_u64("llama.expert_count").value_or(0); experts > 0)
    fail(ErrorCode::unsupported, "{}: metadata 'llama.expert_count': expected 0, found {}", name, experts);
  for (const auto& [tensor, ignored] : file.tensors())
    if (tensor.ends_with(".bias"))
      fail(ErrorCode::unsupported, "{}: tensor {}: expected linear layers without bias", name, shown(tensor));
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
  c.rope_theta = positive_field(file, "llama.rope.freq_base", 10000.0);
  const auto rotated = size_field(file, "llama.rope.dimension_count", kMostHidden, c.head_size);
  if (rotated != c.head_size)
    fail(ErrorCode::unsupported,
         "{}: metadata 'llama.rope.dimension_count': expected the head size {}, found {}",
         file.path().string(), c.head_size, rotated);
  const std::string type = file.get_string("llama.rope.scaling.type").value_or("none");
  const bool plain =
      type == "none" || (type == "linear" && file.get_f64("llama.rope.scaling.factor").value_or(1) == 1);
  if (!plain)
    fail(ErrorCode::unsupported, "{}: metadata 'llama.rope.scaling.type': expected 'none', found {}",
         file.path().string(), shown(type));
  if (file.find("rope_freqs.weight") != nullptr) c.rope_scaling = recognise_scaling(file, c);
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
  check_kind(file);
  ModelConfig c;
  c.architecture = "llama";
  c.layers = size_field(file, "llama.block_count", kMostLayers);
  c.hidden = size_field(file, "llama.embedding_length", kMostHidden);
  c.heads = size_field(file, "llama.attention.head_count", kMostHeads);
  c.kv_heads = size_field(file, "llama.attention.head_count_kv", kMostHeads, c.heads);
  const auto head_size = file.find_metadata("llama.attention.key_length");
  c.head_size = head_size != nullptr ? size_field(file, "llama.attention.key_length", kMostHidden)
                                     : default_head_size(c.hidden, c.heads, file.path().string());
  c.ffn = size_field(file, "llama.feed_forward_length", kMostFfn);
  c.context = size_field(file, "llama.context_length", kMostContext);
  constexpr std::string_view kEpsilon = "llama.attention.layer_norm_rms_epsilon";
  c.norm_epsilon = checked_epsilon(file.get_f64(kEpsilon).value_or(0),
                                   fmt::format("{}: metadata '{}'", file.path().string(), kEpsilon));
  check_heads(c, file.path().string());
  read_rope(file, c);
  const std::int64_t embedding_shape[] = {-1, c.hidden};
  c.vocab = file.at("token_embd.weight", {}, embedding_shape).shape[0];
  c.tied_embeddings = file.find("output.weight") == nullptr;
  read_special_ids(file, c);
  return c;
}

}  // namespace mplus::io
