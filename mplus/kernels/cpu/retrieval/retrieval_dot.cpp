// mean_t sigmoid(q_t · key_j) of int8 keys by dot products of four bytes, for fast numerics where there are
// no matrix instructions: lanes are keys. Sums over queries are in the order of retrieval_matrix.cpp, even
// and odd ones apart, so scores have its bits.
#include "mplus/kernels/cpu/retrieval/retrieval_dot.h"

#include "mplus/kernels/cpu/retrieval/query_codes.h"
#include "mplus/kernels/cpu/simd/short_sigmoid.h"

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_RETRIEVAL_DOT)
namespace {

constexpr std::int64_t kKeys = 32;          // of a block: brought into quads once for all queries
constexpr std::int64_t kPanelQueries = 64;  // whose codes stay in the first cache while keys pass by
constexpr int kColumns = 16;                // of a query's vector: four words
constexpr int kQuadBytes = 64;              // the same columns of four keys, word by word
constexpr int kKeyQuads = 4;                // of a tile, with two queries: eight chains of sums

std::int64_t steps_of(std::int64_t d_r) { return (d_r + kColumns - 1) / kColumns; }
std::int64_t code_bytes(std::int64_t d_r) { return steps_of(d_r) * kColumns; }

// Queries one after another: codes [T, steps, kColumns], scales [T] times -log2(e).
struct Queries {
  const std::byte* codes;
  const float* scales;
  std::int64_t n;
};
// A block of keys: codes [quads, steps, kQuadBytes], scales [keys]; sums of sigmoids of even queries and of
// odd ones [quads].
struct Keys {
  std::byte* codes;
  float* scales;
  F *even, *odd;
};

Keys keys_in(std::byte* scratch) {
  auto* even = reinterpret_cast<F*>(scratch);
  auto* scales = reinterpret_cast<float*>(even + 2 * kKeys / 4);
  return {reinterpret_cast<std::byte*>(scales + kKeys), scales, even, even + kKeys / 4};
}

// Products of M quads of keys with N queries.
template <int M, int N>
MPLUS_INLINE void multiply(I (&acc)[M][N], const std::byte* keys, const std::byte* queries,
                           std::int64_t steps) {
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    MPLUS_UNROLL for (int n = 0; n < N; ++n) acc[m][n] = splat(kBegin);
  }
  const std::int64_t quad_bytes = steps * kQuadBytes, query_bytes = steps * kColumns;
  for (std::int64_t k = 0; k < steps; ++k, keys += kQuadBytes, queries += kColumns) {
    int8x16_t q[N];
    MPLUS_UNROLL for (int n = 0; n < N; ++n) q[n] = load_bits<int8x16_t>(queries + n * query_bytes);
    const auto add_word = [&]<int kWord>() {
      MPLUS_UNROLL for (int m = 0; m < M; ++m) {
        const auto key = load_bits<int8x16_t>(keys + m * quad_bytes + kWord * kVectorBytes);
        MPLUS_UNROLL for (int n = 0; n < N; ++n) {
          acc[m][n] = ints(vdotq_laneq_s32(raw(acc[m][n]), key, q[n], kWord));
        }
      }
    };
    add_word.template operator()<0>();
    add_word.template operator()<1>();
    add_word.template operator()<2>();
    add_word.template operator()<3>();
  }
}

MPLUS_INLINE F exponent(I sum, F scale) { return (as_float(sum) - kBeginFloat) * scale; }

// Adds the sigmoids of some queries to the sums of M quads of keys.
template <int M>
void add_queries(const Keys& keys, std::int64_t quad, const Queries& queries, std::int64_t steps) {
  const std::byte* codes = keys.codes + quad * steps * kQuadBytes;
  F even[M], odd[M], scales[M];
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    even[m] = keys.even[quad + m];
    odd[m] = keys.odd[quad + m];
    scales[m] = load(keys.scales + (quad + m) * kLanes);
  }
  std::int64_t t = 0;
  for (; t + 2 <= queries.n; t += 2) {
    I acc[M][2];
    multiply(acc, codes, queries.codes + t * steps * kColumns, steps);
    const F first = splat(queries.scales[t]), second = splat(queries.scales[t + 1]);
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      even[m] = sum_with_sigmoid(even[m], exponent(acc[m][0], first * scales[m]));
      odd[m] = sum_with_sigmoid(odd[m], exponent(acc[m][1], second * scales[m]));
    }
  }
  if (t < queries.n) {
    I acc[M][1];
    multiply(acc, codes, queries.codes + t * steps * kColumns, steps);
    const F last = splat(queries.scales[t]);
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      even[m] = even[m] + sum_with_sigmoid(F{}, exponent(acc[m][0], last * scales[m]));
    }
  }
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    keys.even[quad + m] = even[m];
    keys.odd[quad + m] = odd[m];
  }
}

// The words of four vectors by columns.
MPLUS_INLINE void put_columns(std::byte* to, const int32x4_t (&row)[4]) {
  const auto pairs = [](int32x4_t a, int32x4_t b) { return vreinterpretq_s64_s32(vzip1q_s32(a, b)); };
  const auto later = [](int32x4_t a, int32x4_t b) { return vreinterpretq_s64_s32(vzip2q_s32(a, b)); };
  const int64x2_t a = pairs(row[0], row[1]), b = pairs(row[2], row[3]);
  const int64x2_t c = later(row[0], row[1]), d = later(row[2], row[3]);
  store_bits(to, vzip1q_s64(a, b));
  store_bits(to + kVectorBytes, vzip2q_s64(a, b));
  store_bits(to + 2 * kVectorBytes, vzip1q_s64(c, d));
  store_bits(to + 3 * kVectorBytes, vzip2q_s64(c, d));
}

// Codes of four keys, zeros behind their last.
void put_quad(std::byte* to, const std::byte* const (&key)[4], std::int64_t d_r) {
  int32x4_t row[4];
  std::int64_t i = 0;
  for (; i + kColumns <= d_r; i += kColumns, to += kQuadBytes) {
    MPLUS_UNROLL for (int j = 0; j < 4; ++j) row[j] = load_bits<int32x4_t>(key[j] + i);
    put_columns(to, row);
  }
  if (i == d_r) return;
  for (int j = 0; j < 4; ++j) {
    std::byte rest[kColumns] = {};
    __builtin_memcpy(rest, key[j] + i, static_cast<std::size_t>(d_r - i));
    row[j] = load_bits<int32x4_t>(rest);
  }
  put_columns(to, row);
}

// Where the last quad is not full, its last key stands for those that are missing.
void put_keys(const Keys& to, const std::byte* keys, std::int64_t n, std::int64_t d_r) {
  const std::int64_t key_bytes = d_r + kKeyScaleBytes;
  for (std::int64_t j = 0; j < n; j += 4) {
    const std::byte* quad[4];
    for (int i = 0; i < 4; ++i) {
      quad[i] = keys + min_of(j + i, n - 1) * key_bytes;
      to.scales[j + i] = key_scale(quad[i] + d_r);
    }
    put_quad(to.codes + j / 4 * steps_of(d_r) * kQuadBytes, quad, d_r);
  }
}

}  // namespace

std::size_t packed_queries_dot_size(std::int64_t T, std::int64_t d_r) {
  return static_cast<std::size_t>(T) * (static_cast<std::size_t>(code_bytes(d_r)) + sizeof(float));
}

void pack_queries_dot(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r) {
  constexpr float kLog2e = 1.44269504f;
  auto* scales = reinterpret_cast<float*>(packed + T * code_bytes(d_r));
  __builtin_memset(packed, 0, static_cast<std::size_t>(T * code_bytes(d_r)));
  for (std::int64_t t = 0; t < T; ++t) {
    const float* query = q + t * d_r;
    const QueryScale scale = scale_of(query, d_r);
    std::byte* codes = packed + t * code_bytes(d_r);
    for (std::int64_t i = 0; i < d_r; ++i)
      codes[i] = static_cast<std::byte>(rounded(query[i] * scale.inverse));
    scales[t] = -kLog2e * scale.value;
  }
}

std::size_t score_dot_scratch(std::int64_t d_r) {
  return static_cast<std::size_t>(kKeys / 4 * (2 * kVectorBytes + steps_of(d_r) * kQuadBytes)) +
         kKeys * sizeof(float);
}

void score_keys_dot(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch) {
  const auto [scores, packed, keys, dtype, T, d_r] = job;
  const std::int64_t steps = steps_of(d_r);
  const Keys block = keys_in(scratch);
  const auto* scales = reinterpret_cast<const float*>(packed + T * code_bytes(d_r));
  for (; j0 < j1; j0 += kKeys) {
    const std::int64_t n = min_of(kKeys, j1 - j0), quads = (n + 3) / 4;
    put_keys(block, keys + j0 * (d_r + kKeyScaleBytes), n, d_r);
    for (std::int64_t j = 0; j < quads; ++j) block.even[j] = block.odd[j] = F{};
    for (std::int64_t t = 0; t < T; t += kPanelQueries) {
      const Queries panel{packed + t * code_bytes(d_r), scales + t, min_of(kPanelQueries, T - t)};
      std::int64_t quad = 0;
      for (; quad + kKeyQuads <= quads; quad += kKeyQuads) add_queries<kKeyQuads>(block, quad, panel, steps);
      for (; quad < quads; ++quad) add_queries<1>(block, quad, panel, steps);
    }
    const float share = 1.0f / static_cast<float>(T);
    for (std::int64_t j = 0; j < n; ++j)
      scores[j0 + j] = (block.even[j / 4][j % 4] + block.odd[j / 4][j % 4]) * share;
  }
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
