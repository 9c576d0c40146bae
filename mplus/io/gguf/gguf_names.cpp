#include "mplus/io/gguf/gguf_names.h"

#include <fmt/core.h>

#include <array>
#include <utility>

namespace mplus::io {

std::string gguf_name(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kInLayer{{
      {"self_attn.q_proj.weight", "attn_q.weight"},
      {"self_attn.k_proj.weight", "attn_k.weight"},
      {"self_attn.v_proj.weight", "attn_v.weight"},
      {"self_attn.o_proj.weight", "attn_output.weight"},
      {"mlp.gate_proj.weight", "ffn_gate.weight"},
      {"mlp.up_proj.weight", "ffn_up.weight"},
      {"mlp.down_proj.weight", "ffn_down.weight"},
      {"input_layernorm.weight", "attn_norm.weight"},
      {"post_attention_layernorm.weight", "ffn_norm.weight"},
      {"self_attn.q_proj.bias", "attn_q.bias"},
      {"self_attn.k_proj.bias", "attn_k.bias"},
      {"self_attn.v_proj.bias", "attn_v.bias"},
      {"self_attn.q_norm.weight", "attn_q_norm.weight"},
      {"self_attn.k_norm.weight", "attn_k_norm.weight"},
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

std::int64_t gguf_permuted_heads(std::string_view name, const ModelConfig& config) {
  if (!config.gguf_interleaves_heads()) return 0;
  if (name.ends_with(".q_proj.weight")) return config.heads;
  if (name.ends_with(".k_proj.weight")) return config.kv_heads;
  return 0;
}

}  // namespace mplus::io
