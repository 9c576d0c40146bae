// out[T,o] in integers of 16 bits, for instruction sets that have their products but none of bf16: a panel of
// weights is turned into integers once, then all rows of x, rounded before (round_rows), run through it.
//   x of a row: 14 bits with a sign, one scale for kScaled columns
//   w of an output: 13 bits with a sign, one scale for a piece of at most kPieceColumns columns
// so that the products of kScaled columns are one integer: 64 · 8191 · 4095 < 2^31. Weights of i8 keep their
// codes. Pieces keep a panel in the second cache; their sums meet in `out`, in order.
#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/outputs.h"
#include "mplus/kernels/cpu/linear/tile.h"

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_ROUNDED) && !defined(MPLUS_MATRIX_BF16) && !defined(MPLUS_AMX)
namespace {

constexpr int kRows = kTileRowsRounded;
constexpr int kVectors = kPanelRounded / kLanes;
constexpr std::int64_t kScaled = 64;
constexpr std::int64_t kPieceColumns = 1024;
constexpr float kMostX = 8191, kMostWeight = 4095;

std::int64_t scales_of(std::int64_t inputs) { return (inputs + kScaled - 1) / kScaled; }

// Rows of x in groups of kRows: pairs of columns [inputs/2, kRows] of every group, then the scales
// [scales, kRows] of every group.
struct RoundedGroup {
  std::byte* pairs;
  float* scales;
};
RoundedGroup group_at(const LinearJob& job, std::int64_t t) {
  const std::int64_t groups = (job.T + kRows - 1) / kRows, group = t / kRows;
  return {job.rounded + group * kRows * job.inputs * 2,
          reinterpret_cast<float*>(job.rounded + groups * kRows * job.inputs * 2) +
              group * kRows * scales_of(job.inputs)};
}

// Pieces of nearly equal size, in whole blocks of every type of weights.
std::int64_t piece_columns(std::int64_t inputs) {
  constexpr std::int64_t kWhole = 256;
  const std::int64_t pieces = max_of<std::int64_t>(1, (inputs + kPieceColumns - 1) / kPieceColumns);
  return ((inputs + pieces - 1) / pieces + kWhole - 1) / kWhole * kWhole;
}

// Rounds n ≤ kScaled columns, a multiple of 32; x that is no finite number makes the scale NaN.
void round_columns(std::byte* pairs, float* scale, const float* x, std::int64_t n) {
  F largest{}, poison{};
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const F v = load(x + i);
    largest = max(largest, as_float(as_int(v) & 0x7fffffff));
    poison = fma(v, F{}, poison);
  }
  const float most = max_lane(largest), unit = most / kMostX;
  // Columns of next to nothing have no useful inverse: they count as zero.
  const float inverse = unit >= 0x1p-120f ? kMostX / most : 0.0f;
  alignas(kVectorBytes) std::uint16_t words[kScaled];
  for (std::int64_t i = 0; i < n; i += kLanes)
    narrow_u16(words + i, round_to_int(load(x + i) * inverse) & 0xffff);
  for (std::int64_t i = 0; i < n; i += 2, pairs += kRows * 4) __builtin_memcpy(pairs, words + i, 4);
  *scale = unit + sum(poison);
}

// The largest size of a weight that a type's codes allow for.
template <DType kType>
MPLUS_INLINE F bound_of(const LaneCodes& block) {
  const auto size = [](F v) { return as_float(as_int(v) & 0x7fffffff); };
  if constexpr (has_minimum(kType)) {
    constexpr float kMost = kType == DType::q5_1 || kType == DType::q5_k ? 31 : 15;
    return max(size(block.second), size(fma(block.scale, splat(kMost), block.second)));
  }
  if constexpr (has_half_scales(kType)) return max(size(block.scale), size(block.second)) * 32.0f;
  return size(block.scale) * (kType == DType::q8_0 ? 128.0f : kType == DType::q4_0 ? 8.0f : 16.0f);
}

struct WeightScale {
  F inverse, value;
};

template <DType kType, class Rows>
MPLUS_INLINE WeightScale scale_of(const Rows& rows, std::int64_t begin, std::int64_t end) {
  F most{}, poison{};
  for_lane_blocks<kType, Order::lanes>(rows, begin, end, [&](std::int64_t, const LaneCodes& block) {
    most = max(most, bound_of<kType>(block));
    poison = fma(block.scale, F{}, poison);
    if constexpr (has_minimum(kType) || has_half_scales(kType)) poison = fma(block.second, F{}, poison);
  });
  const F unit = most * (1.0f / kMostWeight);
  return {unit >= 0x1p-120f ? kMostWeight / most : F{}, unit + poison};
}

// Columns of one vector of outputs as pairs [columns/2, kVectors] of kLanes.
template <DType kType, class Rows>
MPLUS_INLINE void pack_pairs(std::byte* out, const Rows& rows, F inverse, std::int64_t begin,
                             std::int64_t end) {
  const auto put = [&](I low, I high) {
    store_bits(out, (low & 0xffff) | (high << 16));
    out += kVectors * kVectorBytes;
  };
  for_lane_blocks<kType, Order::lanes>(rows, begin, end, [&](std::int64_t, const LaneCodes& block) {
    const F scale = block.scale * inverse, second = block.second * inverse;
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) {
      const F by = has_half_scales(kType) && k >= 4 ? second : scale;
      MPLUS_UNROLL for (int j = 0; j < 4; j += 2) {
        if constexpr (kType == DType::i8) {
          put(code_of<kType>(block.words[k], j), code_of<kType>(block.words[k], j + 1));
        } else {
          const auto value = [&](int place) {
            F code = to_float(code_of<kType>(block.words[k], place));
            if constexpr (kType == DType::q4_0) code = code - 8.0f;
            return round_to_int(has_minimum(kType) ? fma(code, by, second) : code * by);
          };
          put(value(j), value(j + 1));
        }
      }
    }
  });
}

// What the integers of each vector of outputs have to be multiplied with.
template <DType kType, class Rows>
MPLUS_INLINE F pack_vector(std::byte* out, const Rows& rows, std::int64_t begin, std::int64_t end) {
  WeightScale scale{splat(1.0f), rows.scales};
  if constexpr (kType != DType::i8) scale = scale_of<kType>(rows, begin, end);
  pack_pairs<kType>(out, rows, scale.inverse, begin, end);
  return scale.value;
}

template <DType kType>
void pack(std::byte* out, F (&scales)[kVectors], const LinearJob& job, std::int64_t row0, std::int64_t begin,
          std::int64_t end) {
  const std::int64_t last = (job.outputs - 1) / kLanes * kLanes;  // lanes past the end repeat the last row
  for (int n = 0; n < kVectors; ++n, out += kVectorBytes) {
    const std::int64_t row = min_of<std::int64_t>(row0 + n * kLanes, last);
    scales[n] = job.interleaved ? pack_vector<kType>(out, interleaved_rows(job, row, job.outputs), begin, end)
                                : pack_vector<kType>(out, lane_rows(job, row, job.outputs), begin, end);
  }
}

// sums += the products of kRows rows' columns with a panel's; x and w: their first pairs.
MPLUS_TILE void add_columns(F (&sums)[kRows][kVectors], const std::byte* x, const float* x_scales,
                            const std::byte* w, std::int64_t columns) {
  I acc[kRows][kVectors] = {};
  for (std::int64_t k = 0; k < columns; k += 2, x += kRows * 4, w += kVectors * kVectorBytes) {
    I column[kVectors];
    MPLUS_UNROLL for (int n = 0; n < kVectors; ++n) {
      column[n] = load_bits<I>(w + n * kVectorBytes);
      hold(column[n]);
    }
    MPLUS_UNROLL for (int m = 0; m < kRows; ++m) {
      const I pair = splat(load_bits<std::int32_t>(x + 4 * m));
      MPLUS_UNROLL for (int n = 0; n < kVectors; ++n) acc[m][n] = dot2(acc[m][n], column[n], pair);
    }
  }
  MPLUS_UNROLL for (int m = 0; m < kRows; ++m) {
    const F scale = splat(x_scales[m]);
    MPLUS_UNROLL for (int n = 0; n < kVectors; ++n) sums[m][n] = fma(to_float(acc[m][n]), scale, sums[m][n]);
  }
}

// Columns [begin, end) of the panel of outputs from row0 on.
struct Piece {
  std::int64_t row0, begin, end;
};

// A packed piece with the share's rows.
void multiply(const LinearJob& job, const std::byte* packed, const F (&scales)[kVectors], const Piece& piece,
              const Share& share) {
  const auto [row0, begin, end] = piece;
  const std::int64_t t1 = share.t1;
  for (std::int64_t t = share.t0; t < t1; t += kRows) {
    const RoundedGroup x = group_at(job, t);
    F sums[kRows][kVectors];
    MPLUS_UNROLL for (int m = 0; m < kRows; ++m) {
      MPLUS_UNROLL for (int n = 0; n < kVectors; ++n) sums[m][n] = F{};
    }
    for (std::int64_t c = begin; c < end; c += kScaled)
      add_columns(sums, x.pairs + c / 2 * kRows * 4, x.scales + c / kScaled * kRows,
                  packed + (c - begin) / 2 * kVectors * kVectorBytes, min_of(kScaled, end - c));
    for (std::int64_t m = 0; m < min_of<std::int64_t>(kRows, t1 - t); ++m)
      for (int n = 0; n < kVectors; ++n) {
        const std::int64_t row = row0 + n * kLanes;
        put_outputs(job, job.out + (t + m) * job.out_stride + row, sums[m][n] * scales[n], job.outputs - row);
      }
  }
}

}  // namespace

std::size_t rounded_bytes(std::int64_t T, std::int64_t inputs) {
  const std::int64_t rows = (T + kRows - 1) / kRows * kRows;
  return static_cast<std::size_t>(rows * (inputs * 2 + scales_of(inputs) * 4));
}

void round_rows(const LinearJob& job, std::int64_t t0, std::int64_t t1) {
  for (std::int64_t t = t0; t < t1; ++t) {
    const RoundedGroup to = group_at(job, t);
    for (std::int64_t c = 0; c < job.inputs; c += kScaled)
      round_columns(to.pairs + (c / 2 * kRows + t % kRows) * 4, to.scales + c / kScaled * kRows + t % kRows,
                    job.x + t * job.inputs + c, min_of(kScaled, job.inputs - c));
  }
}

std::size_t batched_rounded_scratch(std::int64_t inputs, const Share&) {
  return static_cast<std::size_t>(min_of(inputs, piece_columns(inputs)) / 2 * kVectors * kVectorBytes);
}

void batched_rounded(const LinearJob& job, const Share& share, std::byte* scratch) {
  const std::int64_t columns = piece_columns(job.inputs);
  for (std::int64_t row0 = share.panel0 * kPanelRounded; row0 < share.panel1 * kPanelRounded;
       row0 += kPanelRounded) {
    LinearJob adding = job;  // from the second piece on
    std::int64_t begin = 0;
    do {  // once where there are no columns: the product is zero
      const std::int64_t end = min_of(job.inputs, begin + columns);
      F scales[kVectors];
      for_code_type(job.dtype, [&]<DType kType>() { pack<kType>(scratch, scales, job, row0, begin, end); });
      multiply(adding, scratch, scales, {row0, begin, end}, share);
      adding.accumulate = true;
    } while ((begin += columns) < job.inputs);
  }
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
