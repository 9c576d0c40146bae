// Attention of many queries over f16 caches by tiles of bf16. Keys and values are arranged as tiles once for
// all queries. Every factor is two terms of bf16, which hold an element of the cache whole and a float
// nearly; of their products, that of both low terms is left out. A panel's lanes are (query, head) pairs, so
// the softmax runs down the lanes as in attention_panel.cpp. Blocks of keys start at multiples of kKeys: a
// query's result depends on its own row and the cache alone.
#include "mplus/kernels/cpu/simd/simd.h"
#if defined(MPLUS_AMX)
#include "mplus/kernels/cpu/attention/attention_pairs.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/simd/amx.h"
#include "mplus/kernels/cpu/simd/math.h"
#endif

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_AMX)
namespace {

constexpr std::int64_t kQueries = kTiledLanes;
constexpr int kVectors = kQueries / kLanes;
constexpr std::int64_t kKeys = kTiledRows;
static_assert(kQueries == 2 * kTileDim && kKeys % kTilePairs == 0);
constexpr std::int64_t kKeyStep = kTilePairs;  // keys whose weighted values a product of tiles sums up
constexpr std::int64_t kFewestPairs = 16;      // fewer are not worth arranging a cache for

// A block of kKeys rows: high terms of the keys, low ones, the same of the values. A tile of keys is 16 keys
// by 32 of e, one of values 16 of e by 32 keys.
constexpr std::int64_t block_bytes_of(std::int64_t e) { return 4 * kKeys * e * 2; }
std::int64_t blocks_of(const AttendJob& job) { return (job.rows + kKeys - 1) / kKeys; }

struct Block {
  std::byte* keys;
  std::int64_t e;

  std::byte* key_tile(int term, std::int64_t tile, std::int64_t step) const {
    return keys + ((term * kKeys / kTileDim + tile) * (e / kTilePairs) + step) * kTileBytes;
  }
  std::byte* value_tile(int term, std::int64_t step, std::int64_t tile) const {
    return keys + (2 + term) * kKeys * e * 2 + (step * (e / kTileDim) + tile) * kTileBytes;
  }
};
Block block_of(const AttendJob& job, std::int64_t group, std::int64_t block) {
  return {job.tiles + (group * blocks_of(job) + block) * block_bytes_of(job.head_size), job.head_size};
}

// Sixteen rows of sixteen words each become columns.
MPLUS_INLINE void transpose(I (&rows)[16]) {
  I fours[16];
  MPLUS_UNROLL for (int r = 0; r < 16; r += 4) {
    const __m512i a = _mm512_unpacklo_epi32(raw(rows[r]), raw(rows[r + 1]));
    const __m512i b = _mm512_unpackhi_epi32(raw(rows[r]), raw(rows[r + 1]));
    const __m512i c = _mm512_unpacklo_epi32(raw(rows[r + 2]), raw(rows[r + 3]));
    const __m512i d = _mm512_unpackhi_epi32(raw(rows[r + 2]), raw(rows[r + 3]));
    fours[r] = ints(_mm512_unpacklo_epi64(a, c));  // words 0, 4, 8 and 12 of four rows
    fours[r + 1] = ints(_mm512_unpackhi_epi64(a, c));
    fours[r + 2] = ints(_mm512_unpacklo_epi64(b, d));
    fours[r + 3] = ints(_mm512_unpackhi_epi64(b, d));
  }
  MPLUS_UNROLL for (int k = 0; k < 4; ++k) {
    const __m512i a = _mm512_shuffle_i32x4(raw(fours[k]), raw(fours[4 + k]), 0x88);
    const __m512i b = _mm512_shuffle_i32x4(raw(fours[k]), raw(fours[4 + k]), 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(raw(fours[8 + k]), raw(fours[12 + k]), 0x88);
    const __m512i d = _mm512_shuffle_i32x4(raw(fours[8 + k]), raw(fours[12 + k]), 0xdd);
    rows[k] = ints(_mm512_shuffle_i32x4(a, c, 0x88));
    rows[8 + k] = ints(_mm512_shuffle_i32x4(a, c, 0xdd));
    rows[4 + k] = ints(_mm512_shuffle_i32x4(b, d, 0x88));
    rows[12 + k] = ints(_mm512_shuffle_i32x4(b, d, 0xdd));
  }
}

// Rows of the cache, zero from `rows` on.
struct CacheRows {
  const Half* at;
  std::int64_t rows, e;

  MPLUS_INLINE F vector(std::int64_t j, std::int64_t i) const {
    return j < rows ? load(at + j * e + i) : F{};
  }
};

void arrange_keys(const Block& to, const CacheRows& from, std::int64_t j0) {
  for (std::int64_t j = 0; j < kKeys; ++j)
    for (std::int64_t step = 0; step < from.e / kTilePairs; ++step) {
      const std::int64_t i = step * kTilePairs;
      const Terms terms = row_terms(from.vector(j0 + j, i), from.vector(j0 + j, i + kLanes));
      store_bits(to.key_tile(0, j / kTileDim, step) + j % kTileDim * kVectorBytes, terms.high);
      store_bits(to.key_tile(1, j / kTileDim, step) + j % kTileDim * kVectorBytes, terms.low);
    }
}

void arrange_values(const Block& to, const CacheRows& from, std::int64_t j0) {
  for (std::int64_t step = 0; step < kKeys / kKeyStep; ++step)
    for (std::int64_t tile = 0; tile < from.e / kTileDim; ++tile) {
      I pairs[2][16];
      MPLUS_UNROLL for (int k = 0; k < 16; ++k) {
        const std::int64_t j = j0 + step * kKeyStep + 2 * k, i = tile * kTileDim;
        const Terms terms = pair_terms(from.vector(j, i), from.vector(j + 1, i));
        pairs[0][k] = terms.high;
        pairs[1][k] = terms.low;
      }
      for (int term = 0; term < 2; ++term) {
        transpose(pairs[term]);
        MPLUS_UNROLL for (int i = 0; i < 16; ++i) {
          store_bits(to.value_tile(term, step, tile) + i * kVectorBytes, pairs[term][i]);
        }
      }
    }
}

struct Panel : PanelPairs {
  std::byte* q;        // [term, lanes' vector, step of e] tiles of pairs of columns
  float* out;          // [e, lanes]
  float* scores;       // [kKeys, lanes]
  std::byte* weights;  // [term, step of keys, lanes' vector] tiles of pairs of keys
  I limits[kVectors];  // cache rows that a lane sees
  F maxima[kVectors];
  F sums[kVectors];

  std::byte* q_tile(int term, int vector, std::int64_t step) const {
    return q + ((term * kVectors + vector) * (job.head_size / kTilePairs) + step) * kTileBytes;
  }
  std::byte* weight_tile(int term, std::int64_t step, int vector) const {
    return weights + ((term * (kKeys / kKeyStep) + step) * kVectors + vector) * kTileBytes;
  }
};

void load_queries(Panel& p) {
  const std::int64_t e = p.job.head_size;
  for (int n = 0; n < kVectors; ++n) {
    for (int lane = 0; lane < kLanes; ++lane)
      p.limits[n][lane] = static_cast<std::int32_t>(p.visible(n * kLanes + lane));
    for (std::int64_t i = 0; i < e; i += kLanes) {
      I columns[16];
      MPLUS_UNROLL for (int lane = 0; lane < 16; ++lane) {
        columns[lane] = as_int(load(p.job.q + p.offset(n * kLanes + lane) + i) * p.job.scale);
      }
      transpose(columns);
      MPLUS_UNROLL for (int k = 0; k < 16; k += 2) {
        const Terms terms = pair_terms(as_float(columns[k]), as_float(columns[k + 1]));
        const std::int64_t row = (i % kTilePairs + k) / 2 * kVectorBytes;
        store_bits(p.q_tile(0, n, i / kTilePairs) + row, terms.high);
        store_bits(p.q_tile(1, n, i / kTilePairs) + row, terms.low);
      }
    }
  }
  for (std::int64_t i = 0; i < e * kQueries; i += kLanes) store(p.out + i, F{});
}

// Sums += two tiles of one factor by two of the other, both in two terms: a(term, i), b(term, i).
template <class A, class B>
MPLUS_INLINE void add_products(const A& a, const B& b) {
  tile_load<4>(a(0, 0));
  tile_load<5>(a(0, 1));
  tile_load<6>(b(1, 0));
  tile_load<7>(b(1, 1));
  multiply_block();
  tile_load<6>(b(0, 0));
  tile_load<7>(b(0, 1));
  multiply_block();
  tile_load<4>(a(1, 0));
  tile_load<5>(a(1, 1));
  multiply_block();
}

// Tiles 0 … 3 as 32 rows of kQueries floats.
constexpr std::int64_t kRowBytes = kQueries * 4;
MPLUS_INLINE void load_sums(const float* from) {
  tile_load<0>(from, kRowBytes);
  tile_load<1>(from + kTileDim, kRowBytes);
  tile_load<2>(from + kTileDim * kQueries, kRowBytes);
  tile_load<3>(from + kTileDim * kQueries + kTileDim, kRowBytes);
}
MPLUS_INLINE void store_sums(float* to) {
  tile_store<0>(to, kRowBytes);
  tile_store<1>(to + kTileDim, kRowBytes);
  tile_store<2>(to + kTileDim * kQueries, kRowBytes);
  tile_store<3>(to + kTileDim * kQueries + kTileDim, kRowBytes);
}

// Of the first `keys` rows of a block.
void score_block(const Panel& p, const Block& block, std::int64_t keys) {
  for (std::int64_t j = 0; j < keys; j += 2 * kTileDim) {
    zero_block();
    for (std::int64_t step = 0; step < p.job.head_size / kTilePairs; ++step)
      add_products([&](int term, int i) { return block.key_tile(term, j / kTileDim + i, step); },
                   [&](int term, int n) { return p.q_tile(term, n, step); });
    store_sums(p.scores + j * kQueries);
  }
}

// The weights of a vector of lanes relative to `maximum`; adds them up.
template <class Exp>
MPLUS_INLINE F weigh(const Panel& p, int n, std::int64_t keys, F maximum, F total, const Exp& exp_of) {
  const float* at = p.scores + n * kLanes;
  for (std::int64_t j = 0; j < keys; j += 2, at += 2 * kQueries) {
    const F a = exp_of(load(at) - maximum), b = exp_of(load(at + kQueries) - maximum);
    const Terms terms = pair_terms(a, b);
    const std::int64_t row = j % kKeyStep / 2 * kVectorBytes;
    store_bits(p.weight_tile(0, j / kKeyStep, n) + row, terms.high);
    store_bits(p.weight_tile(1, j / kKeyStep, n) + row, terms.low);
    total = total + a + b;
  }
  return total;
}

// What a vector of lanes sees of its block's scores: their greatest and their least. What it may not see
// becomes -infinity.
MPLUS_INLINE void bounds(const Panel& p, int n, std::int64_t j0, std::int64_t keys, F& maximum, F& minimum) {
  float* at = p.scores + n * kLanes;
  const bool masked = j0 + keys > p.visible(n * kLanes);
  for (std::int64_t j = 0; j < keys; ++j, at += kQueries) {
    F s = load(at);
    if (masked) {
      s = splat(static_cast<std::int32_t>(j0 + j)) < p.limits[n] ? s : splat(-__builtin_inff());
      store(at, s);
    }
    maximum = max(maximum, s);
    minimum = min(minimum, s);
  }
}

// Scores become weights relative to the new maxima, to which earlier results shrink.
void soften(Panel& p, std::int64_t j0, std::int64_t keys) {
  for (int n = 0; n < kVectors; ++n) {
    F maximum = p.maxima[n], minimum = splat(__builtin_inff());
    bounds(p, n, j0, keys, maximum, minimum);
    const F shrink = exp(p.maxima[n] - maximum);
    const F total = p.sums[n] * shrink;
    p.sums[n] = -max_lane(maximum - minimum) >= kNearest
                    ? weigh(p, n, keys, maximum, total, [](F x) { return exp_near(x); })
                    : weigh(p, n, keys, maximum, total, [](F x) { return exp(x); });
    p.maxima[n] = maximum;
    if (j0 == 0 || -max_lane(-shrink) == 1.0f) continue;  // what is there stays
    for (std::int64_t i = 0; i < p.job.head_size; ++i) {
      float* at = p.out + i * kQueries + n * kLanes;
      store(at, load(at) * shrink);
    }
  }
}

void add_values(const Panel& p, const Block& block, std::int64_t keys) {
  for (std::int64_t tile = 0; tile < p.job.head_size / kTileDim; tile += 2) {
    float* out = p.out + tile * kTileDim * kQueries;
    load_sums(out);
    for (std::int64_t step = 0; step < keys / kKeyStep; ++step)
      add_products([&](int term, int i) { return block.value_tile(term, step, tile + i); },
                   [&](int term, int n) { return p.weight_tile(term, step, n); });
    store_sums(out);
  }
}

void put_results(const Panel& p) {
  for (int n = 0; n < kVectors; ++n) {
    const F inverse = 1.0f / p.sums[n];
    for (std::int64_t i = 0; i < p.job.head_size; i += kLanes) {
      I rows[16];
      MPLUS_UNROLL for (int k = 0; k < 16; ++k) {
        rows[k] = as_int(load(p.out + (i + k) * kQueries + n * kLanes) * inverse);
      }
      transpose(rows);
      for (int lane = 0; lane < min_of<std::int64_t>(kLanes, p.count - n * kLanes); ++lane)
        store(p.job.out + p.offset(n * kLanes + lane) + i, as_float(rows[lane]));
    }
  }
}

}  // namespace

std::size_t tiled_attention_bytes(const AttendJob& job) {
  const bool fits = job.cache == DType::f16 && job.head_size % kTilePairs == 0 &&
                    job.T * (job.heads / job.groups) >= kFewestPairs;
  return fits ? static_cast<std::size_t>(job.groups * blocks_of(job) * block_bytes_of(job.head_size)) : 0;
}

void arrange_attention(const AttendJob& job, std::int64_t group, std::int64_t block) {
  const std::int64_t e = job.head_size, first = group * job.capacity * e;
  const Block to = block_of(job, group, block);
  arrange_keys(to, {static_cast<const Half*>(job.keys) + first, job.rows, e}, block * kKeys);
  arrange_values(to, {static_cast<const Half*>(job.values) + first, job.rows, e}, block * kKeys);
}

std::size_t attend_tiles_scratch(std::int64_t e) {
  return static_cast<std::size_t>(2 * kQueries * e * 2 + (e + kKeys) * kQueries * 4 +
                                  2 * kKeys * kQueries * 2);
}

void attend_tiles(const AttendJob& job, std::int64_t group, std::int64_t panel, std::byte* scratch) {
  const TileState tiles;
  const std::int64_t e = job.head_size;
  auto* out = reinterpret_cast<float*>(scratch + 2 * kQueries * e * 2);
  Panel p{{job, group, panel, kQueries},
          scratch,
          out,
          out + e * kQueries,
          reinterpret_cast<std::byte*>(out + (e + kKeys) * kQueries),
          {},
          {},
          {}};
  for (F& maximum : p.maxima) maximum = splat(-__builtin_inff());
  load_queries(p);
  const std::int64_t end = p.visible(p.count - 1);
  for (std::int64_t j0 = 0; j0 < end; j0 += kKeys) {
    const std::int64_t keys = min_of(kKeys, (end - j0 + kKeyStep - 1) / kKeyStep * kKeyStep);
    const Block block = block_of(job, group, j0 / kKeys);
    score_block(p, block, keys);
    soften(p, j0, keys);
    add_values(p, block, keys);
  }
  put_results(p);
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
