#include "mplus/model/device_room.h"

#include <algorithm>

namespace mplus::model {
namespace {

constexpr std::int64_t kTokens = 512;  // of a chunk, of a prompt's block
constexpr std::int64_t kStates = 3;    // hidden states of writes: the last one, the next, what is kept of it
constexpr std::size_t kElse = 200'000'000;   // logits, angles, rows on their way, the library's own
constexpr std::int64_t kLongTerm = 153'600;  // rows of a store without a limit

}  // namespace

DeviceRoom device_room(const Weights& weights, const kernels::Backend& backend, kernels::Numerics numerics) {
  const io::ModelConfig& c = weights.config;
  const std::int64_t kv = c.kv_heads * c.head_size, d_r = weights.memory ? weights.memory->d_r : 0;
  std::int64_t rows = kTokens, attended = 2 * kTokens, states = 0;
  std::size_t copies = 0;
  if (weights.memory) {
    const io::MemoryConfig& m = *weights.memory;
    const std::int64_t layers = m.layers.count(c.layers);
    const std::int64_t stored = std::clamp<std::int64_t>(m.M, 0, kLongTerm);
    rows = std::max(rows, m.C) + m.K;
    attended += 1 + m.N + m.K0 + m.W;
    states = kStates * layers * m.K * c.hidden;
    copies =
        row_bytes(DType::bf16, layers * m.N * (2 * kv + d_r)) + row_bytes(DType::i8, layers * stored * d_r);
  }
  // Activations, and the operands that products make of them.
  const std::int64_t widths = 4 * c.hidden + 2 * c.heads * c.head_size + 2 * kv + 3 * c.ffn + 2 * d_r;
  const std::size_t cache = row_bytes(backend.cache_type(numerics), 2 * c.layers * attended * kv);
  return {cache + row_bytes(DType::f32, rows * widths + states) + kElse, copies};
}

}  // namespace mplus::model
