// The kernels, as functions that put them on a stream. Pointers are of the stream's device unless said
// otherwise; sizes have been checked. What a launch itself gets wrong shows in cudaGetLastError.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mplus/core/numbers/dtype.h"
#include "mplus/core/numbers/odds.h"

struct CUstream_st;

namespace mplus::kernels::cuda {

using Stream = CUstream_st*;

// A matrix whose rows may stand apart; sizes and stride in elements.
struct Rows2d {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, cols = 0, stride = 0;
};

// rows.cu
bool kernels_fit();     // whether the current device has these kernels
bool has_warpgroups();  // and the instructions of warpgroup.cuh
void convert(Stream stream, void* out, DType out_dtype, std::int64_t out_stride, const Rows2d& in);
// out[n] = in[n], or with row[width] added to every `width` of them; numbers of elements are multiples of
// four, and places of 16 bytes (out of eight where it is not f32).
struct Copies {
  struct Copy {
    void* out = nullptr;
    const float *in = nullptr, *plus = nullptr;
    std::int64_t n = 0, width = 0;
    DType dtype = DType::f32;
  };
  static constexpr int kMost = 32;
  Copy list[kMost];
  int count = 0;
};
void copy_several(Stream stream, const Copies& copies);
// For the matrix instruction: type is bf16 or f16; f16 keeps what is too large for it at its largest value.
void round_operand(Stream stream, void* out, DType type, const float* in, std::int64_t n);
void fill(Stream stream, float* out, std::int64_t n, float value);
// *to becomes min(*to, number) for every x[n] with a NaN or an infinity.
struct Notes {
  struct Note {
    const float* x = nullptr;
    std::int64_t n = 0;
    std::int32_t number = 0;
  };
  static constexpr int kMost = 32;
  Note list[kMost];
  int count = 0;
};
void note_finite(Stream stream, std::int32_t* to, const Notes& notes);
// *to becomes 1 where a[n] and b[n] differ in a bit.
void note_difference(Stream stream, std::int32_t* to, const float* a, const float* b, std::int64_t n);
// out[n, size_bytes]: bytes of n rows, which begin where `rows` says (size_bytes and places are even).
void gather_bytes(Stream stream, void* out, const void* const* rows, std::int64_t n, std::int64_t size_bytes);
// to[places[i]] = from[i] for i in [0, n): rows of whole 16 bytes where `quads`, else of an even number.
struct ScatterJob {
  void* to = nullptr;
  const void* from = nullptr;
  const std::int32_t* places = nullptr;
  std::int64_t n = 0, size_bytes = 0;
};
void scatter_rows(Stream stream, const ScatterJob* jobs, std::int64_t count, std::int64_t most_rows,
                  bool quads);
void embed(Stream stream, float* out, const Rows2d& table, const std::int32_t* ids, std::int64_t T);

// choose.cu: rows/choose.h over logits that lie one row behind the other.
struct Choices {
  struct Row {
    bool drawn = false;  // else the best is taken
    float octaves = 0, top_p = 1;
    std::uint64_t least = 1, top_k = 0, chance = 0;
    const LogitEdit* edits = nullptr;
    std::int64_t edit_count = 0;
  };
  static constexpr int kMost = 32;
  Row list[kMost];
  int count = 0;
};
void choose(Stream stream, std::int64_t* out, float* logits, std::int64_t vocab, const Choices& choices);

// elementwise.cu: results also as operands of the matrix instruction, one behind the other, where `to` is
// given; bf16 or f16, and a number of elements that is a multiple of four.
struct Rounded {
  void* to = nullptr;
  DType dtype = DType::bf16;
};
struct RmsNorm {
  float* out = nullptr;  // null where `rounded` is all that is wanted
  const float *x = nullptr, *weight = nullptr;
  std::int64_t T = 0, d = 0;
  float epsilon = 0;
  Rounded rounded;
};
void rms_norm(Stream stream, const RmsNorm& job);
struct Swiglu {
  float* out = nullptr;
  const float *gate = nullptr, *up = nullptr;
  std::int64_t n = 0;
  Rounded rounded;
};
void swiglu(Stream stream, const Swiglu& job);
void silu(Stream stream, float* x, std::int64_t n);
void add_row(Stream stream, float* x, const float* row, std::int64_t T, std::int64_t d);
void pooling_shares(Stream stream, float* shares, const Rows2d& x, const float* vector);
// angles: [positions, 2, half], cosines and sines; row t stands at angles' row first + t.
struct Rope {
  float* x = nullptr;
  std::int64_t T = 0, heads = 0, half = 0, stride = 0, first = 0;
  const float* angles = nullptr;
};
void rope(Stream stream, const Rope& job);

// Weights of one byte: whole numbers (i8) or e4m3 (u8), with a scale for every output (others have none).
constexpr bool is_byte(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

// Products of one x, out[T,o] = scale · x[T,i] · w[o,i]ᵀ, or +=.
struct Product {
  float* out = nullptr;
  std::int64_t out_stride = 0;
  const void* w = nullptr;
  DType dtype = DType::f32;
  const float* row_scales = nullptr;  // of weights of one byte
  std::int64_t outputs = 0;
  float scale = 1.0f;
  bool accumulate = false;
  std::int64_t x_row = 0;  // where its rows of x begin; linear_tensor and linear_narrow alone
};
inline constexpr int kMostLaunchedProducts = 8;
struct Products {
  Product list[kMostLaunchedProducts];
  int count = 0;
  const float* x = nullptr;
  const void* rounded = nullptr;  // x in the weights' type, for linear_tensor
  std::int64_t T = 0, inputs = 0;
};
// linear_tensor.cu: by the matrix instruction, weights of one type for all products (bf16, f16), at the speed
// of memory up to some 64 rows. Needs inputs % 32 == 0 and rows at multiples of 16 bytes. A row's bits depend
// on that row alone.
bool fits_linear_tensor(const Products& products);
void linear_tensor(Stream stream, const Products& products);
// linear_narrow.cu: the same for few outputs and many inputs, with bits of its own, on devices with
// has_warpgroups().
bool fits_linear_narrow(const Products& products);
void linear_narrow(Stream stream, const Products& products);
// linear_packed.cu: the same for weights of one byte, all of one type, beside which there may be products of
// f16; x is f16. Needs inputs % 64 == 0.
bool fits_linear_packed(const Products& products);
void linear_packed(Stream stream, const Products& products);
// linear_stream.cu: what linear_packed() makes, with the same bits, for one row or two.
bool fits_linear_stream(const Products& products);
void linear_stream(Stream stream, const Products& products);
// out[rows, cols] f16: the values of weights of one byte; cols % 8 == 0, and both at whole 16 bytes.
struct UnpackWeights {
  void* out = nullptr;
  const void* w = nullptr;
  DType dtype = DType::i8;
  const float* row_scales = nullptr;
  std::int64_t rows = 0, cols = 0;
};
void unpack_weights(Stream stream, const UnpackWeights& job);
// adapters.cu: the outer halves of low-rank additions, out += scale · low · bᵀ, or out = where `begin`; in
// f32.
struct Adapter {
  float* out = nullptr;  // [T, outputs]
  std::int64_t T = 0;    // at most that of all
  std::int64_t out_stride = 0;
  const float* low = nullptr;  // [T, rank]
  const void* b = nullptr;     // [outputs, rank]
  std::int64_t outputs = 0;
  float scale = 1.0f;
  bool begin = false;
};
struct Adapters {
  Adapter list[kMostLaunchedProducts];
  int count = 0;
  std::int64_t T = 0, rank = 0;
  DType dtype = DType::bf16;  // of b: bf16 or f16
};
// Ranks of 4, 8, 16 and 32; whole 16 bytes of out and b.
bool fits_adapters(const Adapters& adapters);
void add_adapters(Stream stream, const Adapters& adapters);
// gated.cu: gate and up, in that order, whose products are there without their additions (`begin` means
// nothing): gate = silu(gate + its addition) · (up + its own), also as an operand. Ranks up to 16, rows of
// gate one behind the other.
bool fits_gated(const Adapters& adapters);
void swiglu_gated(Stream stream, const Adapters& adapters, const Rounded& rounded);
// gated_warpgroup.cu: the same with the products, on devices with has_warpgroups(); `out` of gate gets the
// result.
struct GatedProduct {
  Adapters adapters;        // of gate and up
  Product gate, up;         // whose weights
  const void* x = nullptr;  // [T, inputs] in their type
  std::int64_t inputs = 0;
  Rounded rounded;
  bool only_rounded = false;  // `out` gets nothing
};
bool fits_gated_product(const GatedProduct& job);
bool swiglu_product(Stream stream, const GatedProduct& job);  // false where the driver cannot
// linear_plain.cu: f32 arithmetic, any size and type. A row's bits depend on that row and on `few` alone.
void linear_plain(Stream stream, const Products& products, bool few);

// One layer's cache of one session: rotated keys, and values. Group g begins g · group_stride elements behind
// the first; its rows, of e elements, stand one behind the other.
struct Cache {
  void *keys = nullptr, *values = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, group_stride = 0;
};
struct Shape {
  std::int64_t heads = 0, groups = 0, head_size = 0;
  bool warpgroups = false;  // for attention: whether has_warpgroups()
};

// kv.cu: rows of k and v, [count, G·e], to places from cache.rows on, keys turned with angles.
struct AppendRows {
  Cache cache;
  Shape shape;
  const float* angles = nullptr;  // [positions, 2, half]
  DType dtype = DType::f32;       // of k and v
  const void *k = nullptr, *v = nullptr;
  std::int64_t k_stride = 0, v_stride = 0;  // in elements
  const void* const* k_rows = nullptr;      // instead of k: where each row begins
  const void* const* v_rows = nullptr;
  const std::int32_t* numbers = nullptr;  // which rows of k and v; null: the first ones
  std::int64_t count = 0;
};
void append_rows(Stream stream, const AppendRows& job);
// Tokens of several sessions (kernels/rows/tokens.h).
struct TokenItem {
  Cache cache;
  float* q = nullptr;                         // [T, H·e], or null
  const float *k = nullptr, *v = nullptr;     // [T, G·e]
  void *kept_k = nullptr, *kept_v = nullptr;  // [T, G·e], or null
  bool kept_rounded = false;                  // to bf16
  std::int64_t T = 0;
};
inline constexpr int kMostTokenItems = 32;  // of one launch
struct TokenItems {
  TokenItem list[kMostTokenItems];
  int count = 0;
  Shape shape;
  const float* angles = nullptr;
  std::int32_t* note = nullptr;  // becomes min(note, first_note + 0, 1, 2) where q, k, v are not finite
  std::int32_t first_note = 0;
};
void append_tokens(Stream stream, const TokenItems& items);  // caches of one type
// out[n, width] f32: the values of n small vectors (core/numbers/row_format.h) that begin where `rows` says.
struct ExpandRows {
  float* out = nullptr;
  const void* const* rows = nullptr;
  std::int64_t count = 0, width = 0;
  bool nibbles = false;  // int4
};
void expand_rows(Stream stream, const ExpandRows& job);

// Attention of several sessions. Query t of T sees the first rows − T + 1 + t rows of its cache.
struct AttendItem {
  float* out = nullptr;      // [T, H·e]
  const float* q = nullptr;  // [T, H·e]
  std::int64_t T = 0;
  Cache cache;
  float* partial = nullptr;  // partial_floats() of them
  Rounded rounded = {};      // of out; by the matrix instruction only
  std::int64_t settled = 0;  // rows of the cache that no kernel still running writes
};
inline constexpr int kMostAttendItems = 16;  // of one launch
struct AttendItems {
  AttendItem list[kMostAttendItems];
  int count = 0;
  Shape shape;
};
// By the matrix instruction, for caches of bf16 and heads of 64 or 128. An item is cut along its cache by its
// own sizes alone. attention_warpgroup.cu: many queries, heads of 128, sm_90; attention_tile.cu: others;
// attention_split.cu: few queries.
bool fits_attend_tensor(DType dtype, const Shape& shape);
std::int64_t partial_floats(const AttendItem& item, const Shape& shape);
void attend_tensor(Stream stream, const AttendItems& items);
// attention_plain.cu: f32 arithmetic, heads up to 256.
inline constexpr std::int64_t kMostHeadSize = 256;
void attend_plain(Stream stream, const AttendItems& items);
// item.out[H, T, rows]: the softmax weights.
void attention_weights(Stream stream, const AttendItem& item, const Shape& shape);

// retrieval.cu: scores[j] = mean over t of sigmoid(q_t · key_j). By the matrix instruction for keys of bf16
// and i8 of 64, 128 or 256 elements (q is rounded to bf16, or to int8); otherwise, and for bf16 where
// `exact`, in f32. A score's bits depend on q and its own key alone.
struct KeyPart {
  const void* keys = nullptr;  // [n, width] f32 or bf16; i8: n small keys of core/numbers/row_format.h
  float* scores = nullptr;     // [n]
  std::int32_t n = 0;
  std::int32_t layer = 0;  // whose queries
};
struct Retrieval {
  const float* const* q = nullptr;  // [layers] of [T, width]
  std::int64_t layers = 0, T = 0, width = 0;
  const KeyPart* parts = nullptr;    // [count]
  std::int64_t count = 0, most = 0;  // most: keys of the largest part
  DType dtype = DType::f32;
  bool exact = false;
  void* packed = nullptr;  // packed_queries_bytes(), filled by pack_queries
};
std::size_t packed_queries_bytes(std::int64_t layers, std::int64_t T, std::int64_t width);
void pack_queries(Stream stream, const Retrieval& job);  // once for all keys of one q
void retrieval_scores(Stream stream, const Retrieval& job);

// chunk_sums.cu: kernels/retrieval/chunk_sums.h. A part's rows are marked, counted and, where all of them
// count, added.
struct ScoredPart {
  float* scores = nullptr;
  const std::int64_t* births = nullptr;
  std::int64_t first_number = 0, oldest_birth = 0, oldest_number = 0;
  std::int32_t n = 0;
  std::int32_t layer = 0;
};
struct ChunkTotals {  // of a layer
  std::int64_t *sums = nullptr, *rows = nullptr;
};
struct ChunkReduction {
  const ScoredPart* parts = nullptr;    // [count]
  std::int64_t count = 0, most = 0;     // most: rows of the largest part
  const ChunkTotals* totals = nullptr;  // [layers]
  std::int64_t layers = 0, K = 1, chunks = 0, top = 0;
  // Where only the best rows count: the scores of each chunk together, layer by layer, and where they end.
  float* grouped = nullptr;                   // [all rows]
  std::int64_t* ends = nullptr;               // [layers, chunks]
  const std::int64_t* layer_begin = nullptr;  // [layers]: a layer's first place in `grouped`
};
void chunk_sums(Stream stream, const ChunkReduction& job);

// best_scores.cu: kernels/retrieval/best_scores.h.
struct Best {
  const float* scores = nullptr;  // [n]
  std::int64_t n = 0, wanted = 0;
  std::int32_t* places = nullptr;  // [room]
  float* values = nullptr;         // [room]
  std::int64_t room = 0;
  std::int64_t* count = nullptr;
  std::uint32_t* counters = nullptr;  // kBestCounters zeros, which it leaves as they are
};
inline constexpr int kBestCounters = 2056;
void best_scores(Stream stream, const Best& job);

}  // namespace mplus::kernels::cuda
