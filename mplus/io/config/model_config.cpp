#include "mplus/io/config/model_config.h"

#include "mplus/core/error.h"
#include "mplus/io/config/config_limits.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"

namespace mplus::io {

namespace {

constexpr std::int64_t kQwen3HeadSize = 128;  // transformers' default, whatever the hidden size

// A key that, set to this, means a computation this program does not do.
void refuse(bool wrong, const JsonFields& json, std::string_view key, std::string_view expected) {
  if (wrong)
    fail(ErrorCode::unsupported, "{}: expected {}, found {}", json.label(key), expected,
         json.has(key) ? shown(json.find(key)->dump(-1, ' ', true)) : "nothing");
}

double positive(const JsonFields& json, std::string_view key, std::optional<double> fallback) {
  const auto x = json.number(key);
  const double value = x ? *x : fallback.value_or(0);
  if (!(value > 0))
    fail(ErrorCode::corrupt, "{}: expected a number above 0, found {}", json.label(key),
         x ? fmt::format("{}", *x) : "nothing");
  return value;
}

std::optional<RopeScaling> read_scaling(const JsonFields& json) {
  // Files before 2024 say "type", later ones "rope_type".
  const std::string_view key = json.has("rope_type") ? "rope_type" : "type";
  const std::string type = json.string(key).value_or("default");
  if (type == "default") return std::nullopt;
  refuse(type != "llama3", json, key, "'llama3' or 'default'");
  RopeScaling scaling;
  scaling.factor = positive(json, "factor", std::nullopt);
  scaling.low_freq_factor = positive(json, "low_freq_factor", std::nullopt);
  scaling.high_freq_factor = positive(json, "high_freq_factor", std::nullopt);
  scaling.original_context = json.required_integer("original_max_position_embeddings", 1, kMostContext);
  if (scaling.low_freq_factor >= scaling.high_freq_factor)
    fail(ErrorCode::corrupt, "{}: expected above low_freq_factor {}, found {}",
         json.label("high_freq_factor"), scaling.low_freq_factor, scaling.high_freq_factor);
  return scaling;
}

// Up to transformers 4: rope_theta and rope_scaling; from 5 on: both within rope_parameters.
void read_rope(const JsonFields& json, ModelConfig& config) {
  if (const auto rope = json.object("rope_parameters")) {
    config.rope_theta = positive(*rope, "rope_theta", 10000.0);
    config.rope_scaling = read_scaling(*rope);
    return;
  }
  config.rope_theta = positive(json, "rope_theta", 10000.0);
  if (const auto scaling = json.object("rope_scaling")) config.rope_scaling = read_scaling(*scaling);
}

std::string read_architecture(const JsonFields& json) {
  std::string type = json.string("model_type").value_or("llama");
  if (type == "qwen2" || type == "qwen3") return type;
  refuse(type != "llama" && type != "memoryllm", json, "model_type",
         "'llama', 'memoryllm', 'qwen2' or 'qwen3'");
  return "llama";
}

// Qwen2 says nothing of its biases, which are always there; of the others' this key means o's as well.
void check_kind(const JsonFields& json) {
  refuse(json.string("hidden_act").value_or("silu") != "silu", json, "hidden_act", "'silu'");
  refuse(json.boolean("attention_bias").value_or(false), json, "attention_bias", "false");
  refuse(json.boolean("mlp_bias").value_or(false), json, "mlp_bias", "false");
  refuse(json.boolean("use_sliding_window").value_or(false), json, "use_sliding_window", "false");
  refuse(json.number("partial_rotary_factor").value_or(1.0) != 1.0, json, "partial_rotary_factor", "1");
}

}  // namespace

void check_heads(const ModelConfig& c, std::string_view file_name) {
  if (c.heads % c.kv_heads != 0)
    fail(ErrorCode::corrupt, "{}: key/value heads: expected a divisor of the {} heads, found {}", file_name,
         c.heads, c.kv_heads);
  if (c.head_size % 2 != 0)
    fail(ErrorCode::corrupt, "{}: head size: expected an even number (rotary pairs), found {}", file_name,
         c.head_size);
}

float checked_epsilon(double epsilon, std::string_view label) {
  if (!(epsilon >= 1e-20 && epsilon <= 1))
    fail(ErrorCode::corrupt, "{}: expected a number from 1e-20 to 1, found {}", label, epsilon);
  return static_cast<float>(epsilon);
}

std::int64_t default_head_size(std::int64_t hidden, std::int64_t heads, std::string_view file_name) {
  if (hidden % heads != 0)
    fail(ErrorCode::corrupt, "{}: hidden size: expected a multiple of the {} heads, found {}", file_name,
         heads, hidden);
  return hidden / heads;
}

ModelConfig parse_hf_config(std::string_view json_text, std::string_view file_name) {
  const Json document = parse_json(json_text, file_name);
  const JsonFields json(document, file_name);
  check_kind(json);
  ModelConfig c;
  c.architecture = read_architecture(json);
  c.qkv_bias = c.architecture == "qwen2";
  c.qk_norm = c.architecture == "qwen3";
  c.layers = json.required_integer("num_hidden_layers", 1, kMostLayers);
  c.hidden = json.required_integer("hidden_size", 1, kMostHidden);
  c.heads = json.required_integer("num_attention_heads", 1, kMostHeads);
  c.kv_heads = json.integer("num_key_value_heads", 1, kMostHeads).value_or(c.heads);
  const auto head_size = json.integer("head_dim", 1, kMostHidden);
  c.head_size = head_size                   ? *head_size
                : c.architecture == "qwen3" ? kQwen3HeadSize
                                            : default_head_size(c.hidden, c.heads, file_name);
  c.ffn = json.required_integer("intermediate_size", 1, kMostFfn);
  c.vocab = json.required_integer("vocab_size", 1, kMostVocab);
  c.context =
      json.integer("max_position_embeddings", 1, kMostContext).value_or(2048);  // transformers' default
  c.norm_epsilon = checked_epsilon(json.number("rms_norm_eps").value_or(1e-6), json.label("rms_norm_eps"));
  read_rope(json, c);
  c.tied_embeddings = json.boolean("tie_word_embeddings").value_or(false);
  c.eos_ids = json.integers("eos_token_id", 0, kMostVocab).value_or(std::vector<std::int64_t>{});
  c.bos_id = json.integer("bos_token_id", 0, kMostVocab);
  check_heads(c, file_name);
  return c;
}

Json hf_config(const ModelConfig& c, std::string_view torch_dtype) {
  const char* model = c.architecture == "qwen2"   ? "Qwen2ForCausalLM"
                      : c.architecture == "qwen3" ? "Qwen3ForCausalLM"
                                                  : "LlamaForCausalLM";
  Json json{{"architectures", {model}},
            {"attention_bias", false},
            {"head_dim", c.head_size},
            {"hidden_act", "silu"},
            {"hidden_size", c.hidden},
            {"intermediate_size", c.ffn},
            {"max_position_embeddings", c.context},
            {"mlp_bias", false},
            {"model_type", c.architecture},
            {"num_attention_heads", c.heads},
            {"num_hidden_layers", c.layers},
            {"num_key_value_heads", c.kv_heads},
            // Through the shortest text of the float, so that 1e-5 reads 1e-05 and not 9.99999974e-06.
            {"rms_norm_eps", std::stod(fmt::format("{}", c.norm_epsilon))},
            {"rope_scaling", nullptr},
            {"rope_theta", c.rope_theta},
            {"tie_word_embeddings", c.tied_embeddings},
            {"torch_dtype", torch_dtype},
            {"vocab_size", c.vocab}};
  if (c.bos_id) json["bos_token_id"] = *c.bos_id;
  if (c.eos_ids.size() == 1) json["eos_token_id"] = c.eos_ids[0];
  if (c.eos_ids.size() > 1) json["eos_token_id"] = c.eos_ids;
  if (c.rope_scaling)
    json["rope_scaling"] = {{"factor", c.rope_scaling->factor},
                            {"high_freq_factor", c.rope_scaling->high_freq_factor},
                            {"low_freq_factor", c.rope_scaling->low_freq_factor},
                            {"original_max_position_embeddings", c.rope_scaling->original_context},
                            {"rope_type", "llama3"}};
  return json;
}

std::string hf_config_json(const ModelConfig& config, std::string_view torch_dtype) {
  return hf_config(config, torch_dtype).dump(1) + "\n";
}

}  // namespace mplus::io
