// out[1,o] with int8 activations, lanes along the inputs: the path of decoding, made to be limited by memory.
#include "mplus/kernels/cpu/dot_block.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/row_codes.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kRows = 4;  // independent chains, and rows that share the loads of x

// R ≤ 4 rows; a group's missing rows sum to nothing.
template <DType kType, int R>
MPLUS_INLINE F4 dot_rows(const LinearJob& job, std::int64_t row) {
  constexpr std::int64_t kBytes = kType == DType::q8_0 ? 34 : kType == DType::q4_0 ? 18 : 20;
  const QuantisedRows& x = job.quantised;
  const std::byte* w = job.w + row * job.row_bytes;
  const std::int64_t blocks = job.inputs / 32;
  DotF acc[kRows] = {};
  F4 minima[kRows] = {};
  for (std::int64_t b = 0; b < blocks; ++b, w += kBytes) {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const std::byte* p = w + r * job.row_bytes;
      prefetch(p);
      const F4 head = half_pair(p);
      MPLUS_UNROLL for (std::int64_t m = 0; m < kTerms; ++m) {
        const std::int64_t term = b * kTerms + m;
        const std::int8_t* q = x.q + term * 32;
        DotI dot;
        if constexpr (kType == DType::q8_0) dot = dot_bytes(x.bias[term], p + 2, q);
        if constexpr (kType == DType::q4_0) dot = dot_nibbles(x.bias[term], p + 2, q);
        if constexpr (kType == DType::q4_1) dot = dot_nibbles(0, p + 4, q);
        const F4 scaled = head * load_pair(x.scales + 2 * term);  // of the integers, and the minimum's share
        acc[r] = dot_fma(dot, scaled, acc[r]);
        if constexpr (kType == DType::q4_1) minima[r] = minima[r] + scaled;
      }
    }
  }
  const F4 total = dot_sum4(acc);
  if constexpr (kType != DType::q4_1) return total;
  return total + F4{minima[0][1], minima[1][1], minima[2][1], minima[3][1]};
}

// What the blocks that begin at p multiply their codes with and add: pairs of scale and minimum, as floats.
template <DType kType>
MPLUS_INLINE void code_heads(float (&pairs)[16], const std::byte* p) {
  if constexpr (kType == DType::q6_k) {
    pairs[0] = half_at(p + 208);  // the blocks' own scales are integers
    pairs[1] = 0.0f;
  } else if constexpr (is_k_quant(kType)) {
    six_bit_pairs(pairs, p);
  } else {
    pairs[0] = half_at(p);
    pairs[1] = kType == DType::q5_1 ? half_at(p + 2) : 0.0f;
  }
}

struct RowSums {
  DotF dots = {};
  F4 minima = {};
};

// Block b of those that begin at p, against every term of the activations from `term` on.
template <DType kType>
MPLUS_INLINE void add_codes(RowSums& sums, const std::byte* p, int b, F4 head, const QuantisedRows& x,
                            std::int64_t term) {
  const RowCodes codes = row_codes<kType>(p, b);
  MPLUS_UNROLL for (std::int64_t m = 0; m < kTerms; ++m) {
    const std::int8_t* q = x.q + (term + m) * 32;
    DotI dot;
    if constexpr (has_half_scales(kType)) {
      dot = dot_half_codes(codes, q, static_cast<std::int8_t>(p[192 + 2 * b]),
                           static_cast<std::int8_t>(p[193 + 2 * b]));
    } else {
      dot = dot_codes<kType>(codes, q);
    }
    const F4 scaled = head * load_pair(x.scales + 2 * (term + m));
    sums.dots = dot_fma(dot, scaled, sums.dots);
    if constexpr (has_minimum(kType)) sums.minima = sums.minima + scaled;
  }
}

template <DType kType, int R>
MPLUS_INLINE F4 dot_code_rows(const LinearJob& job, std::int64_t row) {
  constexpr int kBlocks = static_cast<int>(block_elements(kType) / kQuantBlock);
  constexpr int kStep = kBlocks == 1 ? 1 : kType == DType::q6_k ? 4 : 2;  // blocks that share bytes
  constexpr bool kOwnHeads = kBlocks > 1 && has_minimum(kType);
  const std::byte* w = job.w + row * job.row_bytes;
  RowSums sums[kRows];
  for (std::int64_t at = 0; at < job.inputs / 32; at += kBlocks, w += block_bytes(kType)) {
    float pairs[R][16];
    MPLUS_UNROLL for (int r = 0; r < R; ++r) code_heads<kType>(pairs[r], w + r * job.row_bytes);
    for (int first = 0; first < kBlocks; first += kStep) {
      MPLUS_UNROLL for (int r = 0; r < R; ++r) {
        prefetch(w + r * job.row_bytes + first * 16);
        MPLUS_UNROLL for (int b = first; b < first + kStep; ++b) {
          const F4 head = load_pair(pairs[r] + (kOwnHeads ? 2 * b : 0));
          add_codes<kType>(sums[r], w + r * job.row_bytes, b, head, job.quantised, (at + b) * kTerms);
        }
      }
    }
  }
  const DotF dots[kRows] = {sums[0].dots, sums[1].dots, sums[2].dots, sums[3].dots};
  if constexpr (!has_minimum(kType)) return dot_sum4(dots);
  return dot_sum4(dots) + F4{sums[0].minima[1], sums[1].minima[1], sums[2].minima[1], sums[3].minima[1]};
}

template <DType kType, int R>
MPLUS_INLINE void rows_at(const LinearJob& job, std::int64_t row) {
  F4 value;
  if constexpr (has_codes(kType)) {
    value = dot_code_rows<kType, R>(job, row);
  } else {
    value = dot_rows<kType, R>(job, row);
  }
  value = value * job.scale;
  for (int r = 0; r < R; ++r) job.out[row + r] = job.accumulate ? job.out[row + r] + value[r] : value[r];
}

template <DType kType>
void run(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  std::int64_t row = row0;
  for (; row + kRows <= row1; row += kRows) rows_at<kType, kRows>(job, row);
  for (; row < row1; ++row) rows_at<kType, 1>(job, row);
}

}  // namespace

void vector_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  if (job.dtype == DType::q8_0) run<DType::q8_0>(job, row0, row1);
  if (job.dtype == DType::q4_0) run<DType::q4_0>(job, row0, row1);
  if (job.dtype == DType::q4_1) run<DType::q4_1>(job, row0, row1);
  if (job.dtype == DType::q5_0) run<DType::q5_0>(job, row0, row1);
  if (job.dtype == DType::q5_1) run<DType::q5_1>(job, row0, row1);
  if (job.dtype == DType::q4_k) run<DType::q4_k>(job, row0, row1);
  if (job.dtype == DType::q5_k) run<DType::q5_k>(job, row0, row1);
  if (job.dtype == DType::q6_k) run<DType::q6_k>(job, row0, row1);
}

}  // namespace mplus::kernels::MPLUS_ISA
