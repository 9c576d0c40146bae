// A tile of the int8 product by dot products of four bytes: lanes along the outputs, a vector of dots for
// each row.
#pragma once

#include <algorithm>
#include <utility>

#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/lane_codes.h"

namespace mplus::kernels::MPLUS_ISA {

MPLUS_INLINE void arrange(LaneCodes&) {}  // codes are used as they were packed

// dot += w · (word kWord of a row's block), in every lane.
template <int kWord, DType kType>
MPLUS_INLINE I dot_word(I dot, I w, const std::int8_t* q) {
#if defined(MPLUS_ISA_NEON) && defined(__ARM_FEATURE_DOTPROD)
  return ints(vdotq_laneq_s32(raw(dot), bytes(w), load_bits<int8x16_t>(q + kWord / 4 * 16), kWord % 4));
#else
  std::int32_t word;
  __builtin_memcpy(&word, q + 4 * kWord, 4);
  if constexpr (has_codes(kType) && !has_minimum(kType)) return dot4_signed(dot, w, splat(word));
  return kType == DType::q8_0 ? dot4(dot, w, splat(word)) : dot4_nibbles(dot, w, splat(word));
#endif
}

// The dot products of one block with R rows, in step: R chains hide the latency of one.
template <int R, DType kType, int... kWords>
MPLUS_INLINE void dot_rows(I (&dot)[R], const I (&words)[8], const std::int8_t* q, const std::int32_t* bias,
                           std::integer_sequence<int, kWords...>) {
  MPLUS_UNROLL for (int r = 0; r < R; ++r) dot[r] =
      kType == DType::q8_0 || kType == DType::q4_0 ? splat(bias[r]) : I{};
  const auto add_word = [&]<int kWord>() {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) dot[r] =
        dot_word<kWord, kType>(dot[r], words[kWord], q + 32 * r);
  };
  (add_word.template operator()<kWords>(), ...);
}

// The words of a block's halves, where each has a scale of its own.
using FirstWords = std::integer_sequence<int, 0, 1, 2, 3>;
using LastWords = std::integer_sequence<int, 4, 5, 6, 7>;

template <int R>
MPLUS_INLINE void add_scaled(F* acc, const I (&dot)[R], F scale, const float* scales) {
  MPLUS_UNROLL for (int r = 0; r < R; ++r) acc[r] = fma(to_float(dot[r]), scale * scales[2 * r], acc[r]);
}

// M rows from t on against one panel: acc[m] are the sums of row t + m, before the job's scale.
template <int M, DType kType>
MPLUS_INLINE void sum_rows(F (&acc)[M], const LinearJob& job, const LaneCodes* w, std::int64_t t) {
  constexpr int kTogether = std::min(M, 4);
  const QuantisedRows& x = job.quantised;
  const std::int64_t blocks = job.inputs / 32;
  const std::int64_t first = t / x.group * blocks * kTerms * x.group + t % x.group;
  const std::int8_t* q = x.q + first * 32;
  const float* scales = x.scales + first * 2;
  const std::int32_t* bias = x.bias + first;
  for (std::int64_t b = 0; b < blocks; ++b) {
    I words[8];
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) words[k] = w[b].words[k];
    for (std::int64_t term = 0; term < kTerms; ++term) {
      MPLUS_UNROLL for (int m = 0; m < M; m += kTogether) {
        I dot[kTogether];
        if constexpr (has_half_scales(kType)) {
          dot_rows<kTogether, kType>(dot, words, q + m * 32, bias + m, FirstWords{});
          add_scaled(acc + m, dot, w[b].scale, scales + 2 * m);
          dot_rows<kTogether, kType>(dot, words, q + m * 32, bias + m, LastWords{});
          add_scaled(acc + m, dot, w[b].second, scales + 2 * m);
          continue;
        }
        dot_rows<kTogether, kType>(dot, words, q + m * 32, bias + m, std::make_integer_sequence<int, 8>{});
        MPLUS_UNROLL for (int r = 0; r < kTogether; ++r) {
          F& to = acc[m + r];
          to = fma(to_float(dot[r]), w[b].scale * scales[2 * (m + r)], to);
          if constexpr (has_minimum(kType)) to = fma(w[b].second, splat(scales[2 * (m + r) + 1]), to);
        }
      }
      q += kTileRowsI8 * 32;
      scales += kTileRowsI8 * 2;
      bias += kTileRowsI8;
    }
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
