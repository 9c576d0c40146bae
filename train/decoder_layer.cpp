#include "mplus/train/decoder_layer.h"

namespace mplus::train {
namespace {

Tensor heads(const Tensor& x, std::int64_t count) { return x.unflatten(-1, {count, -1}); }

// Row t of q sees the first (keys − T) + t + 1 rows of k: causal, aligned to the end. [B, T, H·e]
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) {
#ifdef MPLUS_TRAIN_CUDA
  if (q.is_cuda() && q.scalar_type() == torch::kBFloat16) {  // flash attention: aligned so, and heads shared
    const auto flash = at::_scaled_dot_product_flash_attention(q.transpose(1, 2), k.transpose(1, 2),
                                                               v.transpose(1, 2), 0.0, /*is_causal=*/true);
    return std::get<0>(flash).transpose(1, 2).flatten(2);
  }
#endif
  const std::int64_t T = q.size(1), keys = k.size(1), shared = q.size(2) / k.size(2);
  const Tensor seen = torch::ones({T, keys}, q.options().dtype(torch::kBool)).tril(keys - T);
  const auto each_head = [&](const Tensor& x) { return x.repeat_interleave(shared, 2).transpose(1, 2); };
  const Tensor out = torch::scaled_dot_product_attention(q.transpose(1, 2), each_head(k), each_head(v),
                                                         seen);  // [B, H, T, e]
  return out.transpose(1, 2).flatten(2);
}

}  // namespace

KeyValue project_rows(const LayerWeights& w, const io::ModelConfig& config, const Tensor& normed) {
  const std::int64_t kv = config.kv_heads * config.head_size;
  const auto parts = torch::linear(normed, w.qkv.narrow(0, w.qkv.size(0) - 2 * kv, 2 * kv)).chunk(2, -1);
  return {heads(parts[0], config.kv_heads), heads(parts[1], config.kv_heads)};
}

Tensor decoder_layer(const LayerWeights& w, const io::ModelConfig& config, const Tensor& x,
                     const Tensor& normed, const KeyValue& prefix, const Rotation& at) {
  const std::int64_t kv = config.kv_heads * config.head_size;
  const auto qkv = torch::linear(normed, w.qkv).split_with_sizes({w.qkv.size(0) - 2 * kv, kv, kv}, -1);
  const Tensor q = rotate(heads(qkv[0], config.heads), at);     // [B, T, H, e]
  const Tensor k = rotate(heads(qkv[1], config.kv_heads), at);  // [B, T, G, e]
  const Tensor v = heads(qkv[2], config.kv_heads);
  const Tensor attended = attend(q, torch::cat({prefix.k, k}, 1), torch::cat({prefix.v, v}, 1));
  const Tensor mid = x + torch::linear(attended, w.o);  // [B, T, d]
  const Tensor gate_up = torch::linear(rms_norm(mid, w.mlp_norm, config.norm_epsilon), w.gate_up);
  return mid + torch::linear(swiglu(gate_up), w.down);
}

}  // namespace mplus::train
