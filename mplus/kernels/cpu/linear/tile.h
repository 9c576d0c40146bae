// The one inner loop behind batched linear layers, attention and retrieval: an outer-product tile
//   acc[m][n] += a[m * row + k * step] * b[k * b_step + n]        k = 0 … K-1, in order
// with lanes along n. Every element of the result is one chain over k, whatever the tile's shape, so cutting
// the work differently never changes a bit.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"
#if defined(MPLUS_ISA_NEON)
#include "mplus/kernels/cpu/linear/tile_neon.h"
#endif

namespace mplus::kernels::MPLUS_ISA {

inline constexpr int kTileVectors = 3;
inline constexpr int kPanel = kTileVectors * kLanes;

struct RowFactors {
  const float* a;
  std::int64_t row, step;
};

template <int M, int N>
MPLUS_TILE void tile(F (&sums)[M][N], RowFactors rows, const float* b, std::int64_t b_step, std::int64_t K) {
  F acc[M][N];
  copy_tile(acc, sums);
  const float* a = rows.a;
  for (std::int64_t k = 0; k < K; ++k, a += rows.step, b += b_step) {
    F column[N];
    MPLUS_UNROLL for (int n = 0; n < N; ++n) {
      column[n] = load(b + n * kLanes);
      hold(column[n]);
    }
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      const F row = splat(a[m * rows.row]);
      MPLUS_UNROLL for (int n = 0; n < N; ++n) acc[m][n] = fma(row, column[n], acc[m][n]);
    }
  }
  copy_tile(sums, acc);
}

// Of factors a[m * a_row + k], and of a[k * a_step + m].
template <int M, int N>
MPLUS_INLINE void tile_of_rows(F (&acc)[M][N], const float* a, std::int64_t a_row, const float* b,
                               std::int64_t b_step, std::int64_t K) {
#if defined(MPLUS_ISA_NEON)
  if constexpr (M == 8 && N == 3) {
    sum_pairs(acc, a, a_row, b, b_step, K / 2);
    return tile(acc, {a + K / 2 * 2, a_row, 1}, b + K / 2 * 2 * b_step, b_step, K % 2);
  }
#endif
  tile(acc, {a, a_row, 1}, b, b_step, K);
}
template <int M, int N>
MPLUS_INLINE void tile_of_columns(F (&acc)[M][N], const float* a, std::int64_t a_step, const float* b,
                                  std::int64_t b_step, std::int64_t K) {
#if defined(MPLUS_ISA_NEON)
  if constexpr (M % kLanes == 0) return sum_columns(acc, a, a_step, b, b_step, K);
#endif
  tile(acc, {a, 1, a_step}, b, b_step, K);
}

// Unrolled, so that the accumulators stay in registers.
template <int M, int N>
MPLUS_INLINE void store_tile(float* out, std::int64_t row_step, const F (&acc)[M][N]) {
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    MPLUS_UNROLL for (int n = 0; n < N; ++n) store(out + m * row_step + n * kLanes, acc[m][n]);
  }
}

// Calls f.template operator()<M>(first) over [first, end) in tiles of at most kMax rows, the rest in halves.
template <int kMax, class Function>
MPLUS_INLINE void for_tiles(std::int64_t first, std::int64_t end, const Function& f) {
  for (; end - first >= kMax; first += kMax) f.template operator()<kMax>(first);
  if constexpr (kMax > 1) {
    if (first < end) for_tiles<kMax / 2>(first, end, f);
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
