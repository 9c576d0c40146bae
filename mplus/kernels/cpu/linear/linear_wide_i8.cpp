// out[T,o] of a few rows where there are products of pairs of 16 bits, but none of four bytes in one
// instruction: codes of weights are widened once for all rows of x, whose integers lie there whole
// (quantise.cpp). The sums are those of a row alone and meet their scales in the same order, so every bit is
// the same.
#include <type_traits>

#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/outputs.h"
#include "mplus/kernels/cpu/linear/tile.h"

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_WIDE_I8)
namespace {

constexpr int kVectors = kPanelI8 / kLanes;
// Whole blocks of every type; so many have room in the first cache.
constexpr std::int64_t kPieceColumns = 256;
constexpr std::int64_t kPieceBlocks = kPieceColumns / kQuantBlock;
constexpr std::int64_t kMostRows = 64;                    // whose sums wait for the next piece
constexpr std::int64_t kRowBytes = kTerms * kQuantBlock;  // of a row of x in a block

// Some columns of a panel's outputs.
struct Piece {
  I pairs[kPieceColumns / 2][kVectors];
  F scales[2 * kPieceBlocks][kVectors];  // one a block, or two (has_half_scales)
  F minima[kPieceBlocks][kVectors];
};

template <DType kType>
MPLUS_INLINE I pair_of(I word, int half) {
  if constexpr (has_signed_codes(kType)) return widen_signed_bytes(word, half);
  const I codes = widen_bytes(word, half);
  return kType == DType::q4_0 ? subtract_words(codes, code_offset(kType)) : codes;
}

// Columns [begin, end) of one vector of outputs, as number n of the panel.
template <DType kType, class Rows>
MPLUS_INLINE void unpack(Piece& to, int n, const Rows& rows, std::int64_t begin, std::int64_t end) {
  constexpr int kScales = has_half_scales(kType) ? 2 : 1;
  for_lane_blocks<kType, Order::lanes>(rows, begin, end, [&](std::int64_t block, const LaneCodes& w) {
    const std::int64_t b = block - begin / kQuantBlock;
    if constexpr (std::is_same_v<Rows, InterleavedRows>) prefetch_block<kType>(rows, block);
    to.scales[kScales * b][n] = w.scale;
    if constexpr (has_half_scales(kType)) to.scales[2 * b + 1][n] = w.second;
    if constexpr (has_minimum(kType)) to.minima[b][n] = w.second;
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) {
      to.pairs[16 * b + 2 * k][n] = pair_of<kType>(w.words[k], 0);
      to.pairs[16 * b + 2 * k + 1][n] = pair_of<kType>(w.words[k], 1);
    }
  });
}

template <DType kType>
void unpack_panel(Piece& to, const LinearJob& job, std::int64_t row0, std::int64_t begin, std::int64_t end) {
  const std::int64_t last = (job.outputs - 1) / kLanes * kLanes;  // lanes past the end repeat the last row
  for (int n = 0; n < kVectors; ++n) {
    const std::int64_t row = min_of<std::int64_t>(row0 + n * kLanes, last);
    if (job.interleaved) {
      unpack<kType>(to, n, interleaved_rows(job, row, job.outputs), begin, end);
    } else {
      unpack<kType>(to, n, lane_rows(job, row, job.outputs), begin, end);
    }
  }
}

// Rows of x from one on, within a group: its integers, and scales with shares of the minimum, at a block.
struct Rows {
  const std::int8_t* q;
  const float* scales;
};
Rows rows_at(const LinearJob& job, std::int64_t t, std::int64_t column) {
  constexpr std::int64_t kGroup = kTileRowsI8;
  const std::int64_t block = (t / kGroup * job.inputs + column) / kQuantBlock * kGroup + t % kGroup;
  return {job.quantised.q + block * kRowBytes, job.quantised.scales + 2 * block};
}

// sums += `blocks` blocks of M rows of x.
template <int M, bool kHalves, bool kMinima>
MPLUS_TILE void add_tile(F (*sums)[kVectors], const Piece& w, Rows x, std::int64_t blocks) {
  constexpr int kParts = kHalves ? 2 : 1, kPairs = 16 / kParts;
  const I(*pairs)[kVectors] = w.pairs;
  for (std::int64_t part = 0; part < blocks * kParts; ++part) {
    I dots[M][kVectors] = {};
    const std::int8_t* q = x.q + part % kParts * kPairs * 4;
    MPLUS_LOOP for (int k = 0; k < kPairs; ++k, ++pairs, q += 4) {
      I codes[kVectors];
      MPLUS_UNROLL for (int n = 0; n < kVectors; ++n) {
        codes[n] = (*pairs)[n];
        hold(codes[n]);
      }
      MPLUS_UNROLL for (int m = 0; m < M; ++m) {
        const I pair = splat(load_bits<std::int32_t>(q + m * kRowBytes));
        MPLUS_UNROLL for (int n = 0; n < kVectors; ++n) dots[m][n] = dot2(dots[m][n], codes[n], pair);
      }
    }
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      const F scale = splat(x.scales[2 * m]), share = splat(x.scales[2 * m + 1]);
      MPLUS_UNROLL for (int n = 0; n < kVectors; ++n) {
        F sum = fma(to_float(dots[m][n]), w.scales[part][n] * scale, sums[m][n]);
        if constexpr (kMinima) sum = fma(w.minima[part][n], share, sum);
        sums[m][n] = sum;
      }
    }
    if (part % kParts == kParts - 1) {
      x.q += kTileRowsI8 * kRowBytes;
      x.scales += kTileRowsI8 * 2;
    }
  }
}

// Outputs [row0, row1) of rows [t0, t1) of x, at most kMostRows; t0 begins a group.
template <DType kType>
void run(const LinearJob& job, std::int64_t row0, std::int64_t row1, std::int64_t t0, std::int64_t t1) {
  Piece piece;
  F sums[kMostRows][kVectors];
  for (; row0 < row1; row0 += kPanelI8) {
    for (std::int64_t t = t0; t < t1; ++t)
      for (F& sum : sums[t - t0]) sum = F{};
    for (std::int64_t begin = 0; begin < job.inputs; begin += kPieceColumns) {
      const std::int64_t end = min_of(job.inputs, begin + kPieceColumns);
      unpack_panel<kType>(piece, job, row0, begin, end);
      for_tiles<kTileRowsI8>(t0, t1, [&]<int M>(std::int64_t t) {
        add_tile<M, has_half_scales(kType), has_minimum(kType)>(
            sums + (t - t0), piece, rows_at(job, t, begin), (end - begin) / kQuantBlock);
      });
    }
    for (std::int64_t t = t0; t < t1; ++t)
      for (int n = 0; n < kVectors; ++n) {
        const std::int64_t row = row0 + n * kLanes;
        put_outputs(job, job.out + t * job.out_stride + row, sums[t - t0][n], row1 - row);
      }
  }
}

void rows(const LinearJob& job, std::int64_t row0, std::int64_t row1, std::int64_t t0, std::int64_t t1) {
  for_code_type(job.dtype, [&]<DType kType>() {
    for (std::int64_t t = t0; t < t1; t += kMostRows)
      run<kType>(job, row0, row1, t, min_of(t1, t + kMostRows));
  });
}

}  // namespace

void few_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1) { rows(job, row0, row1, 0, job.T); }

std::size_t batched_i8_scratch(std::int64_t) { return 0; }

void batched_i8(const LinearJob& job, std::int64_t panel, std::int64_t t0, std::int64_t t1, std::byte*) {
  rows(job, panel * kPanelI8, min_of(job.outputs, (panel + 1) * kPanelI8), t0, t1);
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
