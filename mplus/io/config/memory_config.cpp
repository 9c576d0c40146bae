#include "mplus/io/config/memory_config.h"

#include <numeric>

#include "mplus/core/error.h"
#include "mplus/io/config/config_limits.h"
#include "mplus/io/text/json.h"

namespace mplus::io {
namespace {

constexpr std::int64_t kPublishedC = 512;
constexpr std::int64_t kPublishedW = 2048;
constexpr std::int64_t kPublishedM = 153600;
constexpr std::int64_t kMostBlocks = 1 << 24;

void read_sizes(const JsonFields& json, MemoryConfig& m) {
  m.K = json.required_integer("num_tokens", 1, kMostHidden);
  const std::int64_t blocks = json.required_integer("num_blocks", 1, kMostBlocks);
  const std::int64_t recalled_blocks = json.integer("num_ltm_blocks", 0, kMostBlocks).value_or(0);
  if (recalled_blocks >= blocks)
    fail(ErrorCode::corrupt, "{}: expected fewer than the {} of num_blocks, found {}",
         json.label("num_ltm_blocks"), blocks, recalled_blocks);
  m.N = (blocks - recalled_blocks) * m.K;
  m.K0 = recalled_blocks * m.K;
  m.C = kPublishedC;
  m.W = kPublishedW;
  m.M = m.K0 > 0 ? kPublishedM : 0;
}

void read_retriever(const JsonFields& json, MemoryConfig& m) {
  m.has_retriever = json.boolean("add_selector").value_or(false);
  if (!m.has_retriever) return;
  m.d_r = json.required_integer("selector_hidden_dim", 1, kMostHidden);
  m.has_encoder_query = json.boolean("add_encoder_retriever").value_or(false);
  m.selector_depth = json.integer("num_selector_layers", 0, 1024).value_or(2) == 2 ? 2 : 1;
  const std::int64_t layers = json.required_integer("num_hidden_layers", 1, kMostLayers);
  const auto chosen = json.integers("selector_layers", 0, layers - 1);
  std::vector<std::int64_t> all(static_cast<std::size_t>(layers));
  std::iota(all.begin(), all.end(), 0);
  if (chosen && *chosen != all) m.selector_layers = *chosen;
}

}  // namespace

std::optional<MemoryConfig> parse_published_memory_config(std::string_view json_text,
                                                          std::string_view file_name) {
  const Json document = parse_json(json_text, file_name);
  const JsonFields json(document, file_name);
  if (!json.has("num_tokens") && !json.has("num_blocks")) return std::nullopt;
  MemoryConfig m;
  read_sizes(json, m);
  read_retriever(json, m);
  if (const auto lora = json.object("lora_config")) {
    m.lora.rank = lora->required_integer("r", 1, kMostRank);
    m.lora.alpha = lora->number("lora_alpha").value_or(static_cast<double>(m.lora.rank));
  }
  m.has_read_lora = json.boolean("add_decoder_lora").value_or(false);
  // M+ always chooses per layer; MemoryLLM only where the file says so.
  m.drop_per_layer = m.K0 > 0 || json.boolean("drop_memory_per_layer").value_or(false);
  return m;
}

std::string published_config_json(const ModelConfig& model, const MemoryConfig& m,
                                  std::string_view torch_dtype, std::int64_t long_term_rows) {
  if (m.K < 1 || m.N % m.K != 0 || m.K0 % m.K != 0)
    fail(ErrorCode::unsupported,
         "published layout: expected N and K0 that are multiples of K, found N {}, K0 {}, K {}", m.N, m.K0,
         m.K);
  if (!m.layers.is_all())
    fail(ErrorCode::unsupported,
         "published layout: every layer has a memory there; this delta keeps one in layers {} only",
         m.layers.text());
  Json json = hf_config(model, torch_dtype);
  json["architectures"] = {m.K0 > 0 ? "MPlus" : "MemoryLLM"};
  json["model_type"] = "memoryllm";
  json["num_tokens"] = m.K;
  json["num_blocks"] = (m.N + m.K0) / m.K;
  json["num_memory_tokens"] = m.N + m.K0;
  json["add_bos_embedding"] = true;
  json["add_decoder_lora"] = m.has_read_lora;
  json["drop_memory_per_layer"] = m.drop_per_layer;
  if (m.lora.rank > 0)
    json["lora_config"] = {
        {"inference_mode", false},
        {"lora_alpha", m.lora.alpha},
        {"lora_dropout", 0.0},
        {"r", m.lora.rank},
        {"target_modules", {"q_proj", "v_proj", "k_proj", "up_proj", "down_proj", "gate_proj"}}};
  if (m.K0 > 0) {
    json["num_ltm_blocks"] = m.K0 / m.K;
    json["ltm_initial_size"] = long_term_rows;
    json["update_ltm_mode"] = "immediate";
    json["update_ltm_frequency"] = 60;
    json["decay_frequency"] = 1;
    json["initial_rf_when_moving_stm_to_ltm"] = 10;
    json["detach_hidden_state"] = true;
    json["map_from_hidden_states"] = true;
    json["maintain_memory_keys"] = false;
  }
  json["add_selector"] = m.has_retriever;
  if (m.has_retriever) {
    json["selector_hidden_dim"] = m.d_r;
    json["num_selector_layers"] = m.selector_depth;
    json["add_encoder_retriever"] = m.has_encoder_query;
    std::vector<std::int64_t> layers = m.selector_layers;
    if (layers.empty()) {
      layers.resize(static_cast<std::size_t>(model.layers));
      std::iota(layers.begin(), layers.end(), 0);
    }
    json["selector_layers"] = layers;
  }
  return json.dump(1) + "\n";
}

}  // namespace mplus::io
