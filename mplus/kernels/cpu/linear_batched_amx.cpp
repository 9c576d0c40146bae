// out[T,o] by tiles of bf16: a panel of weights is turned into bf16 once, then all rows of x, rounded to bf16
// before (round_rows), run through it; sums are f32. Weights of i8 keep their codes, which bf16 holds
// exactly, and meet their rows' scales at the end. Pieces of at most kPieceColumns columns keep a panel in
// the second cache; their sums meet in `out`, in order.
#include "mplus/kernels/cpu/simd.h"
#if defined(MPLUS_AMX)
#include "mplus/kernels/cpu/amx.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/lane_codes.h"
#include "mplus/kernels/cpu/outputs.h"
#endif

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_AMX)
namespace {

// A block is two tiles of rows by two of outputs: four sums, two tiles of each factor. What a product of
// tiles takes of a factor, kTilePairs columns of sixteen rows of x or of sixteen outputs, lies together.
constexpr int kRows = kTileRowsRounded;
constexpr int kBlockOutputs = 2 * kTileDim;
constexpr std::int64_t kPieceColumns = 1024;
static_assert(kRows == 2 * kTileDim && kPanelRounded % kBlockOutputs == 0 && kLanes == kTileDim);

constexpr std::int64_t kStoredColumns = 256;  // whole blocks of every type of weights
std::int64_t piece_columns(std::int64_t inputs) {
  const std::int64_t pieces = max_of<std::int64_t>(1, (inputs + kPieceColumns - 1) / kPieceColumns);
  return ((inputs + pieces - 1) / pieces + kStoredColumns - 1) / kStoredColumns * kStoredColumns;
}

// The columns of kLanes outputs as tiles, each [pair, output].
template <DType kType, class Rows>
MPLUS_INLINE void pack_lanes(std::byte* out, const Rows& rows, std::int64_t begin, std::int64_t end) {
  for_lane_blocks<kType, Order::lanes>(rows, begin, end, [&](std::int64_t b, const LaneCodes& block) {
    std::byte* to = out + (b - begin / kQuantBlock) * kTileBytes;
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) {
      const F scale = has_half_scales(kType) && k >= 4 ? block.second : block.scale;
      const auto value = [&](int place) {
        F code = to_float(code_of<kType>(block.words[k], place));
        if constexpr (kType == DType::q4_0) code = code - 8.0f;
        if constexpr (kType == DType::i8) return code;
        return has_minimum(kType) ? fma(code, scale, block.second) : code * scale;
      };
      MPLUS_UNROLL for (int j = 0; j < 4; j += 2) {
        store_bits(to + (2 * k + j / 2) * kVectorBytes, bf16_pair(value(j), value(j + 1)));
      }
    }
  });
}
static_assert(kQuantBlock == kTilePairs);

template <DType kType>
void pack(std::byte* out, const LinearJob& job, std::int64_t row0, std::int64_t begin, std::int64_t end) {
  const std::int64_t last = (job.outputs - 1) / kLanes * kLanes;  // lanes past the end repeat the last row
  for (int n = 0; n < kPanelRounded / kLanes; ++n, out += (end - begin) / kTilePairs * kTileBytes) {
    const std::int64_t row = min_of<std::int64_t>(row0 + n * kLanes, last);
    if (job.interleaved) {
      pack_lanes<kType>(out, interleaved_rows(job, row, job.outputs), begin, end);
    } else {
      pack_lanes<kType>(out, lane_rows(job, row, job.outputs), begin, end);
    }
  }
}

// sums[m]: two vectors of outputs of row m. Tiles of x lie x_step apart, those of w w_step.
MPLUS_INLINE void sum_block(float (&sums)[kRows][kBlockOutputs], const std::byte* x, std::int64_t x_step,
                            const std::byte* w, std::int64_t w_step, std::int64_t steps) {
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  for (std::int64_t k = 0; k < steps; ++k, x += kTileBytes, w += kTileBytes) {
    tile_load<4>(x);
    tile_load<6>(w);
    tile_load<7>(w + w_step);
    tile_multiply<0, 4, 6>();
    tile_load<5>(x + x_step);
    tile_multiply<1, 4, 7>();
    tile_multiply<2, 5, 6>();
    tile_multiply<3, 5, 7>();
  }
  constexpr std::int64_t kRowBytes = sizeof sums[0];
  tile_store<0>(&sums[0][0], kRowBytes);
  tile_store<1>(&sums[0][kTileDim], kRowBytes);
  tile_store<2>(&sums[kTileDim][0], kRowBytes);
  tile_store<3>(&sums[kTileDim][kTileDim], kRowBytes);
}

void put_block(const LinearJob& job, const float (&sums)[kRows][kBlockOutputs], std::int64_t t,
               std::int64_t row0) {
  for (int n = 0; n < kBlockOutputs && row0 + n < job.outputs; n += kLanes) {
    const std::int64_t first = row0 + n, valid = job.outputs - first;
    F scale = splat(job.scale);
    if (job.dtype == DType::i8) scale = scale * lane_rows(job, first, job.outputs).scales;
    for (std::int64_t m = 0; m < min_of<std::int64_t>(kRows, job.T - t); ++m)
      put_values(job, job.out + (t + m) * job.out_stride + first, load(&sums[m][n]) * scale, valid);
  }
}

std::byte* rounded_rows(const LinearJob& job, std::int64_t t) {
  return job.rounded + t / kTileDim * (job.inputs / kTilePairs) * kTileBytes;
}

}  // namespace

std::size_t rounded_bytes(std::int64_t T, std::int64_t inputs) {
  return static_cast<std::size_t>((T + kRows - 1) / kRows * kRows * inputs) * sizeof(std::uint16_t);
}

// Rows that a last block lacks stay as they are: nobody looks at their sums.
void round_rows(const LinearJob& job, std::int64_t t0, std::int64_t t1) {
  for (std::int64_t t = t0; t < t1; ++t) {
    const float* x = job.x + t * job.inputs;
    std::byte* to = rounded_rows(job, t) + t % kTileDim * kVectorBytes;
    for (std::int64_t i = 0; i < job.inputs; i += kTilePairs, to += kTileBytes)
      store_bits(to, bf16_row(load(x + i), load(x + i + kLanes)));
  }
}

std::size_t batched_rounded_scratch(std::int64_t inputs) {
  return static_cast<std::size_t>(kPanelRounded * min_of(inputs, piece_columns(inputs))) *
         sizeof(std::uint16_t);
}

void batched_rounded(const LinearJob& job, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                     std::byte* scratch) {
  const TileState tiles;
  const std::int64_t row0 = panel * kPanelRounded, end0 = min_of(job.outputs, row0 + kPanelRounded);
  const std::int64_t columns = piece_columns(job.inputs);
  const std::int64_t x_step = job.inputs / kTilePairs * kTileBytes;
  LinearJob piece = job;
  std::int64_t begin = 0;
  do {  // once where there are no columns: the product is zero
    const std::int64_t end = min_of(job.inputs, begin + columns), steps = (end - begin) / kTilePairs;
    for_code_type(job.dtype, [&]<DType kType>() { pack<kType>(scratch, job, row0, begin, end); });
    for (std::int64_t t = t0; t < t1; t += kRows) {
      const std::byte* x = rounded_rows(job, t) + begin / kTilePairs * kTileBytes;
      for (std::int64_t row = row0; row < end0; row += kBlockOutputs) {
        alignas(64) float sums[kRows][kBlockOutputs];
        sum_block(sums, x, x_step, scratch + (row - row0) / kLanes * steps * kTileBytes, steps * kTileBytes,
                  steps);
        put_block(piece, sums, t, row);
      }
    }
    piece.accumulate = true;
  } while ((begin += columns) < job.inputs);
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
