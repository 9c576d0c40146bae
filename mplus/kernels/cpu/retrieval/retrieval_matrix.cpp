// mean_t sigmoid(q_t · key_j) of int8 keys by matrix instructions, for fast numerics: codes of two keys meet
// those of two queries, and sigmoids are made of few instructions.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/retrieval/query_codes.h"
#include "mplus/kernels/cpu/simd/short_sigmoid.h"

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_MATRIX_I8)
namespace {

constexpr std::int64_t kKeys = 32;             // of a block: brought into pairs once for all queries
constexpr std::int64_t kPanelQueries = 64;     // whose codes stay in the first cache while keys pass by
constexpr int kColumns = 8;                    // of one instruction
constexpr int kPairBytes = 16;                 // eight columns of one row, then of its neighbour
constexpr int kKeyPairs = 4, kQueryPairs = 2;  // of a tile: eight chains of sums

std::int64_t steps_of(std::int64_t d_r) { return (d_r + kColumns - 1) / kColumns; }
std::int64_t even(std::int64_t n) { return n + n % 2; }

// A panel of queries: their codes in pairs [pairs, steps, kPairBytes], and scales [pairs, 4] as the lanes of
// a product have them: each pair's twice, times -log2(e). An odd last query has a neighbour of zeros.
struct QueryPanel {
  const std::byte* codes;
  const float* scales;
  std::int64_t queries;
};
// A block of keys the same way; of the scales [pairs, 4] each twice, one key after the other.
struct KeyPairs {
  std::byte* codes;
  float* scales;
};

// Products of M pairs of keys with N pairs of queries, lanes: key 0 with both queries, then key 1.
template <int M, int N>
MPLUS_INLINE void multiply(I (&acc)[M][N], const std::byte* keys, const std::byte* queries,
                           std::int64_t steps) {
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    MPLUS_UNROLL for (int n = 0; n < N; ++n) acc[m][n] = splat(kBegin);
  }
  const std::int64_t pair_bytes = steps * kPairBytes;
  for (std::int64_t k = 0; k < steps; ++k, keys += kPairBytes, queries += kPairBytes) {
    I q[N];
    MPLUS_UNROLL for (int n = 0; n < N; ++n) q[n] = load_bits<I>(queries + n * pair_bytes);
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      const int8x16_t key = bytes(load_bits<I>(keys + m * pair_bytes));
      MPLUS_UNROLL for (int n = 0; n < N; ++n) {
        acc[m][n] = ints(vmmlaq_s32(raw(acc[m][n]), key, bytes(q[n])));
      }
    }
  }
}

template <int M, int N>
MPLUS_INLINE void add_tile(F (&totals)[M], const std::byte* keys, const F (&key_scales)[M],
                           const std::byte* queries, const float* query_scales, std::int64_t steps) {
  I acc[M][N];
  multiply(acc, keys, queries, steps);
  MPLUS_UNROLL for (int n = 0; n < N; ++n) {
    const F scale = load(query_scales + n * kLanes);
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      totals[m] = sum_with_sigmoid(totals[m], (as_float(acc[m][n]) - kBeginFloat) * (scale * key_scales[m]));
    }
  }
}

// Adds the sigmoids of a panel's queries to the sums of M pairs of keys.
template <int M>
void add_panel(F* sums, const KeyPairs& keys, std::int64_t pair, const QueryPanel& panel,
               std::int64_t steps) {
  const std::int64_t pair_bytes = steps * kPairBytes, whole_pairs = panel.queries / 2;
  const std::byte* codes = keys.codes + pair * pair_bytes;
  F totals[M], scales[M];
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    totals[m] = sums[pair + m];
    scales[m] = load(keys.scales + (pair + m) * kLanes);
  }
  std::int64_t p = 0;
  const auto add = [&]<int N>(F(&to)[M]) {
    add_tile<M, N>(to, codes, scales, panel.codes + p * pair_bytes, panel.scales + p * kLanes, steps);
    p += N;
  };
  while (p + kQueryPairs <= whole_pairs) add.template operator()<kQueryPairs>(totals);
  while (p < whole_pairs) add.template operator()<1>(totals);
  if (panel.queries % 2 != 0) {
    F last[M] = {};
    add.template operator()<1>(last);
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      totals[m] = totals[m] + as_float(as_int(last[m]) & I{-1, 0, -1, 0});
    }
  }
  MPLUS_UNROLL for (int m = 0; m < M; ++m) sums[pair + m] = totals[m];
}

// Codes of two rows in turns of eight columns, zeros behind the last.
void put_pair(std::byte* to, const std::byte* a, const std::byte* b, std::int64_t d_r) {
  std::int64_t i = 0;
  for (; i + 2 * kColumns <= d_r; i += 2 * kColumns, to += 2 * kPairBytes) {
    const auto first = load_bits<int64x2_t>(a + i), second = load_bits<int64x2_t>(b + i);
    store_bits(to, vzip1q_s64(first, second));
    store_bits(to + kPairBytes, vzip2q_s64(first, second));
  }
  for (; i < d_r; i += kColumns, to += kPairBytes) {
    const auto n = static_cast<std::size_t>(min_of<std::int64_t>(kColumns, d_r - i));
    __builtin_memset(to, 0, kPairBytes);
    __builtin_memcpy(to, a + i, n);
    __builtin_memcpy(to + kColumns, b + i, n);
  }
}

// An odd last key is its own neighbour.
void put_keys(const KeyPairs& to, const std::byte* keys, std::int64_t n, std::int64_t d_r) {
  const std::int64_t key_bytes = d_r + kKeyScaleBytes, pair_bytes = steps_of(d_r) * kPairBytes;
  for (std::int64_t j = 0; j < n; j += 2) {
    const std::byte* a = keys + j * key_bytes;
    const std::byte* b = j + 1 < n ? a + key_bytes : a;
    put_pair(to.codes + j / 2 * pair_bytes, a, b, d_r);
    const float first = key_scale(a + d_r), second = key_scale(b + d_r);
    store(to.scales + j / 2 * kLanes, F{first, first, second, second});
  }
}

}  // namespace

std::size_t packed_queries_matrix_size(std::int64_t T, std::int64_t d_r) {
  return static_cast<std::size_t>(even(T) / 2 * (steps_of(d_r) * kPairBytes + kVectorBytes));
}

// All pairs' codes, then all pairs' scales.
void pack_queries_matrix(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r) {
  constexpr float kLog2e = 1.44269504f;
  const std::int64_t pair_bytes = steps_of(d_r) * kPairBytes;
  auto* scales = reinterpret_cast<float*>(packed + even(T) / 2 * pair_bytes);
  __builtin_memset(packed, 0, packed_queries_matrix_size(T, d_r));
  for (std::int64_t t = 0; t < T; ++t) {
    const float* query = q + t * d_r;
    const QueryScale scale = scale_of(query, d_r);
    std::byte* codes = packed + t / 2 * pair_bytes + t % 2 * kColumns;
    for (std::int64_t i = 0; i < d_r; ++i)
      codes[i / kColumns * kPairBytes + i % kColumns] =
          static_cast<std::byte>(rounded(query[i] * scale.inverse));
    for (const int lane : {0, 2}) scales[t / 2 * kLanes + t % 2 + lane] = -kLog2e * scale.value;
  }
}

std::size_t score_matrix_scratch(std::int64_t d_r) {
  return static_cast<std::size_t>(kKeys / 2 * (2 * kVectorBytes + steps_of(d_r) * kPairBytes));
}

void score_keys_matrix(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch) {
  const auto [scores, packed, keys, dtype, T, d_r] = job;
  const std::int64_t steps = steps_of(d_r), pair_bytes = steps * kPairBytes;
  F* sums = reinterpret_cast<F*>(scratch);
  const KeyPairs pairs{scratch + kKeys / 2 * 2 * kVectorBytes,
                       reinterpret_cast<float*>(scratch + kKeys / 2 * kVectorBytes)};
  const auto* scales = reinterpret_cast<const float*>(packed + even(T) / 2 * pair_bytes);
  for (; j0 < j1; j0 += kKeys) {
    const std::int64_t n = min_of(kKeys, j1 - j0), blocks = even(n) / 2;
    put_keys(pairs, keys + j0 * (d_r + kKeyScaleBytes), n, d_r);
    for (std::int64_t j = 0; j < blocks; ++j) sums[j] = F{};
    for (std::int64_t t = 0; t < T; t += kPanelQueries) {
      const QueryPanel panel{packed + t / 2 * pair_bytes, scales + t / 2 * kLanes,
                             min_of(kPanelQueries, T - t)};
      std::int64_t pair = 0;
      for (; pair + kKeyPairs <= blocks; pair += kKeyPairs)
        add_panel<kKeyPairs>(sums, pairs, pair, panel, steps);
      for (; pair < blocks; ++pair) add_panel<1>(sums, pairs, pair, panel, steps);
    }
    const float share = 1.0f / static_cast<float>(T);
    for (std::int64_t j = 0; j < n; ++j)
      scores[j0 + j] = (sums[j / 2][j % 2 * 2] + sums[j / 2][j % 2 * 2 + 1]) * share;
  }
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
