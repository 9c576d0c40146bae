// What one instruction set offers: plain functions over plain ranges, without threads, allocation or checks.
// The files of this folder are compiled once per instruction set, each time into its own namespace; the
// operations above choose a Table at run time and cut the work. Files here include nothing with inline
// functions of other namespaces: a linker that keeps one copy of such a function could keep the one built for
// a processor we are not on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mplus/core/numbers/dtype.h"

namespace mplus::kernels {

// Activations as integers of fifteen bits in blocks of 32, x ≈ scale * (128 * q + q'), both terms int8: their
// dot products are one integer before any of them meets a scale. One term alone costs a small model some 0.05
// nats a token, two are as good as f32 here. The terms of a block follow each other, and blocks of `group`
// neighbouring rows lie together, so that a tile of rows is one stream: block b of row t has number
// ((t / group) * i/32 + b) * group + t % group, and of its terms, m stands at ((t / group) * i/32 * kTerms +
// b * kTerms + m) * group + t % group (in pairs of rows where the instruction set multiplies matrices, as
// whole integers where it multiplies 16 bits: quantise.cpp). `sums` undo the offset that an instruction set
// stores weights with.
inline constexpr std::int64_t kTerms = 2;
inline constexpr int kTermBits = 7;  // the second term is in units of 2^-7 of the first

struct QuantisedRows {
  std::int8_t* q = nullptr;  // 32 a term
  // Two a block: scale, and scale * Σ(128 q + q'). Of pairs of rows both twice (quantise.cpp).
  float* scales = nullptr;
  std::int32_t* sums = nullptr;  // one a block: Σ(128 q + q')
  std::int64_t group = 1;
};

// A low-rank addition to a product: its inner half is there, rounded as batched_rounded reads rows of x.
struct LowRankJob {
  std::byte* rounded = nullptr;       // null: none
  const std::byte* w = nullptr;       // [outputs, inputs] of a plain type
  const float* row_scales = nullptr;  // i8 only
  DType dtype = DType::f32;
  std::int64_t inputs = 0;  // at most kMostLow
  std::int64_t row_bytes = 0;
  float scale = 1.0f;
  bool interleaved = false;  // i8 only
};
inline constexpr std::int64_t kMostLow = 256;

struct LinearJob {
  float* out = nullptr;
  const float* x = nullptr;  // [T, inputs]
  const std::byte* w = nullptr;
  const float* row_scales = nullptr;  // i8 only
  DType dtype = DType::f32;
  std::int64_t T = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t row_bytes = 0;
  std::int64_t out_stride = 0;
  float scale = 1.0f;
  bool accumulate = false;
  bool interleaved = false;  // w: in groups of Table::group_weights rows (interleave)
  QuantisedRows quantised;
  std::byte* rounded = nullptr;  // x as batched_rounded reads it, in whole groups of group_rounded rows
  // Where the instruction set folds them in (Table::gated):
  LowRankJob low = {};
  std::byte* rounded_out = nullptr;  // not null: results go here, as the next product reads its rows
};

// What batched_rounded works on: panels [panel0, panel1) and rows [t0, t1), whole groups of them.
struct Share {
  std::int64_t panel0 = 0, panel1 = 0, t0 = 0, t1 = 0;
};

struct AttendJob {
  float* out = nullptr;          // [T, H*e]
  const float* q = nullptr;      // [T, H*e]
  const void* keys = nullptr;    // [G, capacity, e] of `cache`: f32, or f16 where the table has such caches
  const void* values = nullptr;  // [G, capacity, e]
  DType cache = DType::f32;
  std::int64_t T = 0;
  std::int64_t rows = 0;
  std::int64_t capacity = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t head_size = 0;
  float scale = 1.0f;
  std::byte* tiles = nullptr;  // the cache as TiledAttention reads it
};

// Attention of many queries where the instruction set multiplies tiles: the cache is arranged once, block by
// block, then panels of (query, head) pairs run over it.
struct TiledAttention {
  std::int64_t lanes = 0;                            // pairs of a panel
  std::int64_t block_rows = 0;                       // of the cache
  std::size_t (*bytes)(const AttendJob&) = nullptr;  // of the arranged cache; 0 where a job is not for tiles
  void (*arrange)(const AttendJob&, std::int64_t group, std::int64_t block) = nullptr;
  std::size_t (*scratch)(std::int64_t head_size) = nullptr;
  void (*attend)(const AttendJob&, std::int64_t group, std::int64_t panel, std::byte* scratch) = nullptr;
};

// Packed queries and the keys they meet.
struct ScoreJob {
  float* scores = nullptr;  // one a key
  const std::byte* packed = nullptr;
  const std::byte* keys = nullptr;
  DType dtype = DType::f32;  // of keys
  std::int64_t T = 0;
  std::int64_t d_r = 0;
};

// A way of scoring: q is packed once, then keys [j0, j1) are scored.
struct Scoring {
  std::size_t (*packed_size)(std::int64_t T, std::int64_t d_r) = nullptr;
  void (*pack)(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r) = nullptr;
  std::size_t (*scratch)(std::int64_t d_r) = nullptr;
  void (*score)(const ScoreJob&, std::int64_t j0, std::int64_t j1, std::byte* scratch) = nullptr;
};
inline constexpr std::int64_t kMostFastColumns = 256;  // of small keys under fast numerics

inline constexpr std::int64_t kDecodeChunk = 256;  // cache rows of one item of a single query's attention

struct Table {
  const char* name;
  std::int64_t panel;     // outputs (or queries) that a batched f32 item works on
  std::int64_t panel_i8;  // outputs of a batched int8 item
  std::int64_t group_i8;  // rows of x that it takes together
  // Products of many rows with both factors rounded, to bf16 or to integers of 14 and 13 bits; 0 and null
  // where the instruction set has none.
  std::int64_t panel_rounded = 0;
  std::int64_t group_rounded = 0;
  std::int64_t most_panels = 1;  // worth taking together, for the sake of x
  std::size_t (*rounded_bytes)(std::int64_t T, std::int64_t inputs) = nullptr;
  void (*round_rows)(const LinearJob&, std::int64_t t0, std::int64_t t1) = nullptr;  // t0 is even
  std::size_t (*batched_rounded_scratch)(std::int64_t inputs, const Share& share) = nullptr;
  void (*batched_rounded)(const LinearJob&, const Share& share, std::byte* scratch) = nullptr;
  // batched_rounded that adds job.low and may leave rounded rows; and silu(gate) · up of two such products in
  // gate's place. Weights of the products are not i8. Null where there is none.
  std::size_t (*gated_scratch)(const LinearJob& gate, const Share& share) = nullptr;
  void (*gated)(const LinearJob& gate, const LinearJob& up, const Share& share, std::byte* scratch) = nullptr;

  // Weights as codes in groups of rows whose blocks are interleaved, `to` in that order from w in the order
  // of a file; the products of integers and those above read them. Null where there is no such order. few_i8:
  // a few rows with them, where that has a way of its own.
  std::int64_t group_weights = 1;
  void (*interleave)(std::byte* to, const LinearJob&, std::int64_t group0, std::int64_t group1) = nullptr;
  void (*few_i8)(const LinearJob&, std::int64_t row0, std::int64_t row1) = nullptr;
  std::int64_t short_rows = 0;  // prompts of up to so many tokens are faster by few_i8

  // Linear. Batched items pack one panel of weights into scratch and run rows [t0, t1) through it.
  void (*quantise)(const LinearJob&, std::int64_t t0, std::int64_t t1);
  void (*batched_f32)(const LinearJob&, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                      std::byte* scratch);
  void (*batched_i8)(const LinearJob&, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                     std::byte* scratch);
  void (*vector_f32)(const LinearJob&, std::int64_t row0, std::int64_t row1);  // T == 1
  void (*vector_i8)(const LinearJob&, std::int64_t row0, std::int64_t row1);   // T == 1
  std::size_t (*batched_f32_scratch)(std::int64_t inputs);
  std::size_t (*batched_i8_scratch)(std::int64_t inputs);

  DType fast_cache = DType::f32;  // keys and values of attention under fast numerics

  // Attention: one panel of (query, head) pairs of a group; or one chunk of cache rows for all heads of a
  // group and a single query, leaving [H/G, e + 2] partial results: weighted values, then maximum and sum.
  void (*attend_panel)(const AttendJob&, std::int64_t group, std::int64_t panel, std::byte* scratch);
  void (*attend_chunk)(const AttendJob&, std::int64_t t, std::int64_t group, std::int64_t chunk,
                       float* partial, std::byte* scratch);
  void (*attend_merge)(const AttendJob&, std::int64_t t, std::int64_t group, const float* partials,
                       std::int64_t chunks);
  std::size_t (*attend_panel_scratch)(std::int64_t head_size);
  std::size_t (*attend_chunk_scratch)(std::int64_t sharing);
  TiledAttention tiled = {};

  // Retrieval: of keys that are floats, and of small keys, in integers; `fast` in its own way where the
  // instruction set has one.
  Scoring plain;
  Scoring small;
  Scoring small_fast = {};

  // Element-wise and row-wise.
  void (*rms_norm_row)(float* out, const float* x, const float* weight, std::int64_t d, float epsilon);
  void (*swiglu)(float* out, const float* gate, const float* up, std::int64_t n);
  void (*silu)(float* x, std::int64_t n);
  void (*add)(float* x, const float* y, std::int64_t n);
  void (*rotate)(float* out, const float* x, const float* cos, const float* sin, std::int64_t half);
  void (*to_f32)(float* out, const void* in, DType dtype, std::int64_t n);
  void (*from_f32)(void* out, DType dtype, const float* in, std::int64_t n);
};

}  // namespace mplus::kernels
