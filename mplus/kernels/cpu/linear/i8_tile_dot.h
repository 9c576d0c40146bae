// A tile of the int8 product by dot products of four bytes: lanes along the outputs, a vector of dots for
// each row.
#pragma once

#include <algorithm>
#include <utility>

#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"

namespace mplus::kernels::MPLUS_ISA {

// Rows of x at a block: the first row's first term, scale with share of the minimum, and sum.
struct QuantisedBlock {
  const std::int8_t* q;
  const float* scales;
  const std::int32_t* sums;
};

// Rows of x from one on that lie in one group.
struct QuantisedGroup {
  QuantisedBlock first;

  // Row m of them at block b, in groups of kGroup rows.
  template <int kGroup = kTileRowsI8>
  MPLUS_INLINE QuantisedBlock row(std::int64_t b, int m) const {
    return {first.q + (b * kTerms * kGroup + m) * 32, first.scales + (b * kGroup + m) * 2,
            first.sums + b * kGroup + m};
  }
};

MPLUS_INLINE QuantisedGroup quantised_group(const LinearJob& job, std::int64_t t) {
  const QuantisedRows& x = job.quantised;
  const std::int64_t before = t / x.group * (job.inputs / 32) * x.group, within = t % x.group;
  return {
      {x.q + (before * kTerms + within) * 32, x.scales + (before + within) * 2, x.sums + before + within}};
}

// dot += w · (word kWord of a row's block), in every lane.
template <int kWord, DType kType>
MPLUS_INLINE I dot_word(I dot, I w, const std::int8_t* q) {
#if defined(MPLUS_ISA_NEON) && defined(__ARM_FEATURE_DOTPROD)
  return ints(vdotq_laneq_s32(raw(dot), bytes(w), load_bits<int8x16_t>(q + kWord / 4 * 16), kWord % 4));
#else
  std::int32_t word;
  __builtin_memcpy(&word, q + 4 * kWord, 4);
  if constexpr (has_codes(kType) && !has_minimum(kType)) return dot4_signed(dot, w, splat(word));
  return has_bytes(kType) ? dot4(dot, w, splat(word)) : dot4_nibbles(dot, w, splat(word));
#endif
}

// dot += the products of some words of a block with R rows, in step: R chains hide the latency of one.
template <DType kType, int R, int... kWords>
MPLUS_INLINE void dot_rows(I (&dot)[R], const I (&words)[8], const std::int8_t* q,
                           std::integer_sequence<int, kWords...>) {
  const auto add_word = [&]<int kWord>() {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) dot[r] =
        dot_word<kWord, kType>(dot[r], words[kWord], q + 32 * r);
  };
  (add_word.template operator()<kWords>(), ...);
}

#if defined(MPLUS_WIDE_I8)
// Words whose products fit 16 bits together: two times the largest code times 127 each.
constexpr int words_at_once(DType t) {
  return has_bytes(t) ? 1 : t == DType::q5_1 || t == DType::q5_k || t == DType::q6_k ? 4 : 8;
}

// Both terms of a block of one row: products of bytes are summed in 16 bits as long as they fit.
template <DType kType, int kGroup, int... kWords>
MPLUS_INLINE void dot_terms(I (&dot)[1], const I (&words)[8], const QuantisedBlock& x,
                            std::integer_sequence<int, kWords...>) {
  static_assert(kGroup == 1 && kTerms == 2);
  dot[0] = I{};
  I first{}, second{};  // of each term
  const auto add_word = [&]<int kWord>() {
    const I w = words[kWord], size = has_signed_codes(kType) ? byte_sizes(w) : w;
    const auto products = [&](int term) {
      const I a = splat(load_bits<std::int32_t>(x.q + term * 32 + 4 * kWord));
      return pair_products(size, has_signed_codes(kType) ? with_signs(a, w) : a);
    };
    first = add_words(first, products(0));
    second = add_words(second, products(1));
    if constexpr ((kWord + 1) % words_at_once(kType) == 0) {
      dot[0] = dot[0] + sum_pairs(first, 1 << kTermBits) + sum_pairs(second, 1);
      first = second = I{};
    }
  };
  (add_word.template operator()<kWords>(), ...);
  if constexpr (code_offset(kType) != 0) dot[0] = dot[0] - splat(x.sums[0]) * code_offset(kType);
}
#else
// Both terms of the rows' block; of groups of kGroup rows.
template <DType kType, int kGroup, int R, class Words>
MPLUS_INLINE void dot_terms(I (&dot)[R], const I (&words)[8], const QuantisedBlock& x, Words chosen) {
  MPLUS_UNROLL for (int r = 0; r < R; ++r) dot[r] = I{};
  dot_rows<kType>(dot, words, x.q, chosen);
  MPLUS_UNROLL for (int r = 0; r < R; ++r) {
    dot[r] = dot[r] << kTermBits;
    if constexpr (code_offset(kType) != 0) dot[r] = dot[r] - splat(x.sums[r]) * code_offset(kType);
  }
  dot_rows<kType>(dot, words, x.q + kGroup * 32, chosen);
}
#endif

// The words of a block's halves, where each has a scale of its own.
using FirstWords = std::integer_sequence<int, 0, 1, 2, 3>;
using LastWords = std::integer_sequence<int, 4, 5, 6, 7>;
using AllWords = std::make_integer_sequence<int, 8>;

template <int R>
MPLUS_INLINE void add_scaled(F* acc, const I (&dot)[R], F scale, const float* scales) {
  MPLUS_UNROLL for (int r = 0; r < R; ++r) acc[r] = fma(to_float(dot[r]), scale * scales[2 * r], acc[r]);
}

// One block of R rows.
template <int R, DType kType, int kGroup = kTileRowsI8>
MPLUS_INLINE void add_block(F* acc, const I (&words)[8], const LaneCodes& w, const QuantisedBlock& x) {
  I dot[R];
  if constexpr (has_half_scales(kType)) {
    dot_terms<kType, kGroup>(dot, words, x, FirstWords{});
    add_scaled(acc, dot, w.scale, x.scales);
    dot_terms<kType, kGroup>(dot, words, x, LastWords{});
    add_scaled(acc, dot, w.second, x.scales);
    return;
  }
  dot_terms<kType, kGroup>(dot, words, x, AllWords{});
  add_scaled(acc, dot, w.scale, x.scales);
  if constexpr (has_minimum(kType)) {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) acc[r] = fma(w.second, splat(x.scales[2 * r + 1]), acc[r]);
  }
}

// M rows from t on against one panel: acc[m] are the sums of row t + m, before the job's scale.
template <int M, DType kType>
MPLUS_INLINE void sum_rows(F (&acc)[M], const LinearJob& job, const LaneCodes* w, std::int64_t t) {
  constexpr int kTogether = std::min(M, 4);
  const QuantisedGroup x = quantised_group(job, t);
  for (std::int64_t b = 0; b < job.inputs / 32; ++b) {
    I words[8];
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) words[k] = w[b].words[k];
    MPLUS_UNROLL for (int m = 0; m < M; m += kTogether) {
      add_block<kTogether, kType>(acc + m, words, w[b], x.row(b, m));
    }
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
