// out[1,o] in f32, lanes along the inputs: weights are read once, in file order.
#include "mplus/kernels/cpu/codes/dequantise.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/retrieval/row_codes.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kRows = 4;  // independent chains, and rows that share the loads of x

// R ≤ 4 rows; a group's missing rows sum to nothing.
template <DType kType, int R>
MPLUS_INLINE F4 plain_rows(const LinearJob& job, std::int64_t row) {
  const std::byte* w = job.w + row * job.row_bytes;
  F acc[kRows] = {};
  std::int64_t i = 0;
  float row_scale[R];
  for (int r = 0; r < R; ++r) row_scale[r] = kType == DType::i8 ? job.row_scales[row + r] : 1.0f;
  for (; i + kLanes <= job.inputs; i += kLanes) {
    const F x = load(job.x + i);
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const std::byte* p = w + r * job.row_bytes;
      prefetch(p + i * static_cast<std::int64_t>(block_bytes(kType)));
      acc[r] = fma(elements<kType>(p, i, row_scale[r]), x, acc[r]);
    }
  }
  F4 total = sum4(acc[0], acc[1], acc[2], acc[3]);
  for (; i < job.inputs; ++i)
    for (int r = 0; r < R; ++r) total[r] += element<kType>(w + r * job.row_bytes, i, row_scale[r]) * job.x[i];
  return total;
}

template <DType kType, int R>
MPLUS_INLINE F4 block_rows(const LinearJob& job, std::int64_t row) {
  constexpr std::int64_t kBytes = kType == DType::q8_0 ? 34 : kType == DType::q4_0 ? 18 : 20;
  const std::byte* w = job.w + row * job.row_bytes;
  F acc[kRows] = {};
  for (std::int64_t b = 0; b < job.inputs / 32; ++b, w += kBytes) {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      prefetch(w + r * job.row_bytes);
      F values[kBlockVectors];
      block<kType>(values, w + r * job.row_bytes);
      MPLUS_UNROLL for (int v = 0; v < kBlockVectors; ++v) {
        acc[r] = fma(values[v], load(job.x + b * 32 + v * kLanes), acc[r]);
      }
    }
  }
  return sum4(acc[0], acc[1], acc[2], acc[3]);
}

template <DType kType, int R>
MPLUS_INLINE F4 code_rows(const LinearJob& job, std::int64_t row) {
  constexpr std::int64_t kBlocks = block_elements(kType) / kQuantBlock;
  F acc[kRows] = {};
  for (std::int64_t b = 0; b < job.inputs / 32; ++b) {
    const std::byte* w = block_at<kType>(job.w + row * job.row_bytes, b);
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      F values[kBlockVectors];
      code_values<kType>(values, w + r * job.row_bytes, static_cast<int>(b % kBlocks));  // NOLINT: 1 or 8
      MPLUS_UNROLL for (int v = 0; v < kBlockVectors; ++v) {
        acc[r] = fma(values[v], load(job.x + b * 32 + v * kLanes), acc[r]);
      }
    }
  }
  return sum4(acc[0], acc[1], acc[2], acc[3]);
}

template <DType kType, int R>
MPLUS_INLINE void rows_at(const LinearJob& job, std::int64_t row) {
  F4 value;
  if constexpr (has_codes(kType)) {
    value = code_rows<kType, R>(job, row);
  } else if constexpr (is_quantised(kType)) {
    value = block_rows<kType, R>(job, row);
  } else {
    value = plain_rows<kType, R>(job, row);
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

void vector_f32(const LinearJob& job, std::int64_t row0, std::int64_t row1) {
  switch (job.dtype) {
    case DType::f32:
      return run<DType::f32>(job, row0, row1);
    case DType::f16:
      return run<DType::f16>(job, row0, row1);
    case DType::bf16:
      return run<DType::bf16>(job, row0, row1);
    case DType::i8:
      return run<DType::i8>(job, row0, row1);
    case DType::q8_0:
      return run<DType::q8_0>(job, row0, row1);
    case DType::q4_0:
      return run<DType::q4_0>(job, row0, row1);
    case DType::q4_1:
      return run<DType::q4_1>(job, row0, row1);
    case DType::q5_0:
      return run<DType::q5_0>(job, row0, row1);
    case DType::q5_1:
      return run<DType::q5_1>(job, row0, row1);
    case DType::q4_k:
      return run<DType::q4_k>(job, row0, row1);
    case DType::q5_k:
      return run<DType::q5_k>(job, row0, row1);
    case DType::q6_k:
      return run<DType::q6_k>(job, row0, row1);
    default:
      return;  // linear() lets no other type through
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
