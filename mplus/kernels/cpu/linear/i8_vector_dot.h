// Rows of a matrix-vector product with int8 activations by dot products of four bytes, lanes along the
// inputs.
#pragma once

#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/dot_block.h"
#include "mplus/kernels/cpu/linear/i8_tile_dot.h"
#include "mplus/kernels/cpu/linear/outputs.h"
#include "mplus/kernels/cpu/retrieval/row_codes.h"

namespace mplus::kernels::MPLUS_ISA {

inline constexpr std::int64_t kRows = 4;  // independent chains, and rows that share the loads of x

// What block b of those that begin at p multiplies its codes with and adds: scale and minimum. `pairs` has
// them where blocks share their heads; Q6_K has one scale for all, and integers for each.
template <DType kType>
MPLUS_INLINE F4 code_head(const std::byte* p, int b, const float (&pairs)[16],
                          [[maybe_unused]] const LinearJob& job, [[maybe_unused]] std::int64_t row) {
  if constexpr (kType == DType::i8) return F4{job.row_scales[row], 0.0f, 0.0f, 0.0f};
  if constexpr (kType == DType::q6_k) return F4{half_at(p + 208), 0.0f, 0.0f, 0.0f};
  if constexpr (is_k_quant(kType)) return load_pair(pairs + 2 * b);
  return half_pair(p);
}

struct RowSums {
  DotF dots = {};
  F4 minima = {};
};

// Block b of those that begin at p, against block `at` of the activations.
template <DType kType>
MPLUS_INLINE void add_codes(RowSums& sums, const std::byte* p, int b, F4 head, const QuantisedRows& x,
                            std::int64_t at) {
  const RowCodes codes = row_codes<kType>(p, b);
  const std::int8_t* q = x.q + at * kTerms * 32;
  DotI dot;
  if constexpr (has_half_scales(kType)) {
    dot = dot_half_terms(codes, q, static_cast<std::int8_t>(p[192 + 2 * b]),
                         static_cast<std::int8_t>(p[193 + 2 * b]));
  } else {
    dot = dot_terms<kType>(codes, q);
  }
  const F4 scaled = head * load_pair(x.scales + 2 * at);  // of the integers, and the minimum's share
  sums.dots = dot_fma(dot, scaled, sums.dots);
  if constexpr (has_minimum(kType)) sums.minima = sums.minima + scaled;
}

// R ≤ 4 rows; a group's missing rows sum to nothing.
template <DType kType, int R>
MPLUS_INLINE F4 dot_rows(const LinearJob& job, std::int64_t row) {
  constexpr int kBlocks = static_cast<int>(stored_elements(kType) / kQuantBlock);
  constexpr int kStep = kBlocks == 1 ? 1 : kType == DType::q6_k ? 4 : 2;  // blocks that share bytes
  const std::byte* w = job.w + row * job.row_bytes;
  RowSums sums[kRows];
  for (std::int64_t at = 0; at < job.inputs / 32; at += kBlocks, w += stored_bytes(kType)) {
    float pairs[R][16];
    if constexpr (kBlocks > 1 && has_minimum(kType)) {
      MPLUS_UNROLL for (int r = 0; r < R; ++r) six_bit_pairs(pairs[r], w + r * job.row_bytes);
    }
    for (int first = 0; first < kBlocks; first += kStep) {
      MPLUS_UNROLL for (int r = 0; r < R; ++r) {
        prefetch(w + r * job.row_bytes + first * 16);
        const std::byte* p = w + r * job.row_bytes;
        MPLUS_UNROLL for (int b = first; b < first + kStep; ++b) {
          const F4 head = code_head<kType>(p, b, pairs[r], job, row + r);
          add_codes<kType>(sums[r], p, b, head, job.quantised, at + b);
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
  const F4 value = dot_rows<kType, R>(job, row) * job.scale;
  for (int r = 0; r < R; ++r) job.out[row + r] = job.accumulate ? job.out[row + r] + value[r] : value[r];
}

template <DType kType>
MPLUS_INLINE void vector_rows(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  std::int64_t row = row0;
  for (; row + kRows <= row1; row += kRows) rows_at<kType, kRows>(job, row);
  for (; row < row1; ++row) rows_at<kType, 1>(job, row);
}

#if defined(MPLUS_INTERLEAVED)
// Interleaved weights: kLanes outputs at a time, one stream, which the processor follows by itself.
template <DType kType>
MPLUS_INLINE void interleaved_vector_rows(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  const QuantisedGroup x = quantised_group(job, 0);
  for (std::int64_t row = row0; row < row1; row += kLanes) {
    F sum[1] = {};
    const InterleavedRows weights = interleaved_rows(job, row, row1);
    for_lane_blocks<kType, Order::lanes>(weights, job.inputs, [&](std::int64_t b, LaneCodes& w) {
      prefetch_block<kType>(weights, b);
      offset_codes<kType>(w);
      add_block<1, kType, 1>(sum, w.words, w, x.row<1>(b, 0));
    });
    put_outputs(job, job.out + row, sum[0], row1 - row);
  }
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
