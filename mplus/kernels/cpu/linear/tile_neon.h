// The inner loop on NEON: `fmla` takes one lane of a vector as a factor, where a broadcast would be an
// instruction more for every row. The same chains over k as tile().
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {

#define MPLUS_ROW(acc0, acc1, acc2, c0, c1, c2, x, lane)                                          \
  "fmla v" #acc0 ".4s, v" #c0 ".4s, v" #x ".s[" #lane "]\n fmla v" #acc1 ".4s, v" #c1 ".4s, v" #x \
  ".s[" #lane "]\n fmla v" #acc2 ".4s, v" #c2 ".4s, v" #x ".s[" #lane "]\n"
#define MPLUS_TWO_ROWS(a, b, a0, a1, a2, b0, b1, b2)                                                    \
  "ldr d6, [%[" #a "]], #8\n ldr d7, [%[" #b "]], #8\n" MPLUS_ROW(a0, a1, a2, 0, 1, 2, 6, 0) MPLUS_ROW( \
      b0, b1, b2, 0, 1, 2, 7, 0) MPLUS_ROW(a0, a1, a2, 3, 4, 5, 6, 1) MPLUS_ROW(b0, b1, b2, 3, 4, 5, 7, 1)
#define MPLUS_ALL_SUMS(instruction)                                                               \
  instruction " q8, q9, [%[acc]]\n" instruction " q10, q11, [%[acc], #32]\n" instruction          \
              " q12, q13, [%[acc], #64]\n" instruction " q14, q15, [%[acc], #96]\n" instruction   \
              " q16, q17, [%[acc], #128]\n" instruction " q18, q19, [%[acc], #160]\n" instruction \
              " q20, q21, [%[acc], #192]\n" instruction " q22, q23, [%[acc], #224]\n" instruction \
              " q24, q25, [%[acc], #256]\n" instruction " q26, q27, [%[acc], #288]\n" instruction \
              " q28, q29, [%[acc], #320]\n" instruction " q30, q31, [%[acc], #352]\n"

// acc[m][n] += a[m * a_row + k] * b[k * b_step + n] for an even number of k. The sums and two columns of
// factors are 30 registers; left to a compiler, some sums live in memory.
MPLUS_INLINE void sum_pairs(F (&acc)[8][3], const float* a, std::int64_t a_row, const float* b,
                            std::int64_t b_step, std::int64_t pairs) {
  const float *r0 = a, *r1 = r0 + a_row, *r2 = r1 + a_row, *r3 = r2 + a_row, *r4 = r3 + a_row,
              *r5 = r4 + a_row, *r6 = r5 + a_row, *r7 = r6 + a_row;
  asm volatile(
      MPLUS_ALL_SUMS("ldp")
      "cbz %[pairs], 2f\n"
      "1:\n"
      "ldp q0, q1, [%[b]]\n ldr q2, [%[b], #32]\n add %[b], %[b], %[step]\n"
      "ldp q3, q4, [%[b]]\n ldr q5, [%[b], #32]\n add %[b], %[b], %[step]\n"
      "subs %[pairs], %[pairs], #1\n"
      MPLUS_TWO_ROWS(r0, r1, 8, 9, 10, 11, 12, 13) MPLUS_TWO_ROWS(r2, r3, 14, 15, 16, 17, 18, 19)
      MPLUS_TWO_ROWS(r4, r5, 20, 21, 22, 23, 24, 25) MPLUS_TWO_ROWS(r6, r7, 26, 27, 28, 29, 30, 31)
      "b.ne 1b\n"
      "2:\n"
      MPLUS_ALL_SUMS("stp")
      : [r0] "+r"(r0), [r1] "+r"(r1), [r2] "+r"(r2), [r3] "+r"(r3), [r4] "+r"(r4), [r5] "+r"(r5),
        [r6] "+r"(r6), [r7] "+r"(r7), [b] "+r"(b), [pairs] "+r"(pairs)
      : [acc] "r"(&acc[0][0]), [step] "r"(b_step * static_cast<std::int64_t>(sizeof(float)))
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
        "v27", "v28", "v29", "v30", "v31");
}

#undef MPLUS_ROW
#undef MPLUS_TWO_ROWS
#undef MPLUS_ALL_SUMS

template <int kLane, int N>
MPLUS_INLINE void add_lane(F (&acc)[N], const F (&column)[N], F x) {
  MPLUS_UNROLL for (int n = 0; n < N; ++n) {
    acc[n] = floats(vfmaq_laneq_f32(raw(acc[n]), raw(column[n]), raw(x), kLane));
  }
}

// acc[m][n] += a[k * a_step + m] * b[k * b_step + n]
template <int M, int N>
MPLUS_INLINE void sum_columns(F (&acc)[M][N], const float* a, std::int64_t a_step, const float* b,
                              std::int64_t b_step, std::int64_t K) {
  static_assert(M % kLanes == 0);
  for (std::int64_t k = 0; k < K; ++k, a += a_step, b += b_step) {
    F column[N];
    MPLUS_UNROLL for (int n = 0; n < N; ++n) column[n] = load(b + n * kLanes);
    MPLUS_UNROLL for (int m = 0; m < M; m += kLanes) {
      const F x = load(a + m);
      add_lane<0>(acc[m], column, x);
      add_lane<1>(acc[m + 1], column, x);
      add_lane<2>(acc[m + 2], column, x);
      add_lane<3>(acc[m + 3], column, x);
    }
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
