// The sizes of a memory, fixed for its life. Symbols as in the M+ paper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "mplus/core/layer_set.h"
#include "mplus/core/numbers/dtype.h"
#include "mplus/core/numbers/row_format.h"

namespace mplus::memory {

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

struct Layout {
  std::int64_t layers = 0;                 // L
  std::int64_t hidden = 0;                 // d
  std::int64_t kv = 0;                     // G·e: width of a key or a value
  std::int64_t retriever = 0;              // d_r; 0: no retriever, hence no long-term store
  std::int64_t K = 0;                      // rows written by one update
  std::int64_t N = 0;                      // short-term slots a layer
  std::int64_t K0 = 0;                     // long-term rows recalled by one read
  std::int64_t M = kUnlimited;             // long-term capacity a layer
  DType dtype = DType::bf16;               // of stored keys, values and retriever keys, where they are plain
  RowFormat long_term = RowFormat::plain;  // what a row becomes when it is dropped
  bool keep_hidden = false;    // keep hidden states as well (export to the published layout needs them)
  bool drop_per_layer = true;  // false: every layer drops the same slots (some MemoryLLM checkpoints)
  LayerSet remembering = {};   // layers that keep rows; in the others there are never any

  MemoryType type() const { return {dtype, long_term}; }
  std::int64_t remembering_layers() const { return remembering.count(layers); }
  bool has_long_term() const { return retriever > 0; }
  // Of one stored row: a key or a value, a retriever key.
  std::size_t kv_bytes(RowFormat format = RowFormat::plain) const {
    return format == RowFormat::plain ? row_bytes(dtype, kv) : small_vector_bytes(format, kv);
  }
  std::size_t key_bytes(RowFormat format = RowFormat::plain) const {
    if (retriever == 0) return 0;
    return format == RowFormat::plain ? row_bytes(dtype, retriever) : small_key_bytes(retriever);
  }
  std::size_t hidden_bytes() const { return keep_hidden ? row_bytes(DType::f32, hidden) : 0; }
  // What it costs in one layer: k, v, retriever key, birth.
  std::size_t row_cost_bytes(RowFormat format = RowFormat::plain) const {
    return 2 * kv_bytes(format) + key_bytes(format) + hidden_bytes() + sizeof(std::int64_t);
  }
};

// The update that wrote a row; negative for rows a checkpoint brought.
constexpr std::int64_t chunk_of(std::int64_t birth, std::int64_t K) {
  return birth >= 0 ? birth / K : -((-birth + K - 1) / K);
}

}  // namespace mplus::memory
