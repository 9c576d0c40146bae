// out[T,o] by tiles of bf16: 32 outputs' weights are turned into bf16 once, then all rows of x, split before
// (round_rows) into two terms of bf16, run through them; sums are f32. Rounding both factors to one term
// moves the NLL of single answers by up to .055 nats a token, this by .022; two terms of weights as well are
// nearly exact and take a third more time. A low-rank addition is one step more. Weights of i8 keep their
// codes, which bf16 holds exactly, and meet their rows' scales at the end.
//
// Weights are taken in pieces that stay in the first cache, or near it; sums of pieces wait as tiles. A share
// of several panels reads a piece of x from afar once.
#include "mplus/kernels/cpu/simd/simd.h"
#if defined(MPLUS_AMX)
#include "mplus/kernels/cpu/codes/dequantise.h"
#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/outputs.h"
#include "mplus/kernels/cpu/simd/amx.h"
#include "mplus/kernels/cpu/simd/math.h"
#endif

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_AMX)
namespace {

// A step of a block's products takes kTilePairs columns of both factors; what it takes of one lies together:
// of x two tiles of high terms, then two of low ones, of weights two tiles.
constexpr int kRows = kTileRowsRounded;
constexpr int kOutputs = kPanelRounded;
constexpr std::int64_t kTermBytes = 2 * kTileBytes, kStepBytes = 2 * kTermBytes;
constexpr std::int64_t kSumBytes =
    4 * kTileBytes;  // of a block: rows' first half with both of outputs, then the second
constexpr std::int64_t kPieceColumns = 288;  // about
static_assert(kRows == 2 * kTileDim && kOutputs == 2 * kTileDim && kLanes == kTileDim);
static_assert(kQuantBlock == kTilePairs);

constexpr std::int64_t tiles_of(std::int64_t columns) { return (columns + kTilePairs - 1) / kTilePairs; }

// Pieces of nearly equal size, in whole blocks of weights: of 256 columns where rows may have such.
std::int64_t piece_columns(std::int64_t inputs) {
  const std::int64_t whole = inputs % kSuperBlock == 0 ? kSuperBlock : kTilePairs;
  const std::int64_t pieces = max_of<std::int64_t>(1, (inputs + kPieceColumns / 2) / kPieceColumns);
  return max_of<std::int64_t>(1, ((inputs + pieces - 1) / pieces + whole / 2) / whole) * whole;
}

MPLUS_INLINE void put_terms(std::byte* to, const Terms& terms) {
  store_bits(to, terms.high);
  store_bits(to + kTermBytes, terms.low);
}

// The columns of kLanes outputs as tiles, each [pair, output]. Codes of i8 are multiplied with `of_codes`.
template <DType kType, class Rows>
MPLUS_INLINE void pack_lanes(std::byte* out, const Rows& rows, std::int64_t begin, std::int64_t end,
                             F of_codes) {
  for_lane_blocks<kType, Order::lanes>(rows, begin, end, [&](std::int64_t b, const LaneCodes& block) {
    std::byte* to = out + (b - begin / kQuantBlock) * kTermBytes;
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) {
      const F scale = has_half_scales(kType) && k >= 4 ? block.second : block.scale;
      const auto value = [&](int place) {
        F code = to_float(code_of<kType>(block.words[k], place));
        if constexpr (kType == DType::q4_0) code = code - 8.0f;
        if constexpr (kType == DType::i8) return code * of_codes;
        return has_minimum(kType) ? fma(code, scale, block.second) : code * scale;
      };
      MPLUS_UNROLL for (int j = 0; j < 4; j += 2) {
        store_bits(to + (2 * k + j / 2) * kVectorBytes, bf16_pair(value(j), value(j + 1)));
      }
    }
  });
}

// Lanes past the end repeat the last row.
MPLUS_INLINE std::int64_t lanes_at(const LinearJob& job, std::int64_t row0, int n) {
  return min_of<std::int64_t>(row0 + n * kLanes, (job.outputs - 1) / kLanes * kLanes);
}

template <DType kType>
void pack(std::byte* out, const LinearJob& job, std::int64_t row0, std::int64_t begin, std::int64_t end) {
  for (int n = 0; n < kOutputs / kLanes; ++n, out += kTileBytes) {
    const std::int64_t row = lanes_at(job, row0, n);
    if (job.interleaved) {
      pack_lanes<kType>(out, interleaved_rows(job, row, job.outputs), begin, end, splat(1.0f));
    } else {
      pack_lanes<kType>(out, lane_rows(job, row, job.outputs), begin, end, splat(1.0f));
    }
  }
}

// The outer half of a low-rank addition, with its scale; `columns` has room for the columns of kLanes
// outputs.
template <DType kType>
void pack_low(std::byte* out, const LinearJob& job, std::int64_t row0, float* columns) {
  const LowRankJob& low = job.low;
  const std::int64_t padded = tiles_of(low.inputs) * kTilePairs;
  for (std::int64_t i = low.inputs * kLanes; i < padded * kLanes; i += kLanes) store(columns + i, F{});
  for (int n = 0; n < kOutputs / kLanes; ++n) {
    const std::int64_t first = lanes_at(job, row0, n);
    I offsets{};
    F scales = splat(1.0f);
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t row = min_of<std::int64_t>(lane, job.outputs - 1 - first);
      offsets[lane] = static_cast<std::int32_t>(row * low.row_bytes);
      if (kType == DType::i8) scales[lane] = low.row_scales[first + row];
    }
    pack_columns<kType>(columns, kLanes, low.w + first * low.row_bytes, offsets, low.inputs, scales);
    for (std::int64_t i = 0; i < padded; i += 2) {
      const auto value = [&](std::int64_t column) { return load(columns + column * kLanes) * low.scale; };
      store_bits(out + i / kTilePairs * kTermBytes + n * kTileBytes + i % kTilePairs / 2 * kVectorBytes,
                 bf16_pair(value(i), value(i + 1)));
    }
  }
}

void pack_interleaved_low(std::byte* out, const LinearJob& job, std::int64_t row0) {
  const LowRankJob& low = job.low;
  LinearJob outer;
  outer.w = low.w;
  outer.row_scales = low.row_scales;
  outer.dtype = DType::i8;
  outer.row_bytes = low.row_bytes;
  for (int n = 0; n < kOutputs / kLanes; ++n, out += kTileBytes) {
    const InterleavedRows rows = interleaved_rows(outer, lanes_at(job, row0, n), job.outputs);
    pack_lanes<DType::i8>(out, rows, 0, low.inputs, rows.scales * low.scale);
  }
}

void pack_low(std::byte* out, const LinearJob& job, std::int64_t row0, float* columns) {
  if (job.low.interleaved) return pack_interleaved_low(out, job, row0);
  switch (job.low.dtype) {
    case DType::f16:
      return pack_low<DType::f16>(out, job, row0, columns);
    case DType::bf16:
      return pack_low<DType::bf16>(out, job, row0, columns);
    case DType::i8:
      return pack_low<DType::i8>(out, job, row0, columns);
    default:
      return pack_low<DType::f32>(out, job, row0, columns);
  }
}

// Tiles 0 … 3 += the products of two tiles' rows with two tiles' outputs.
MPLUS_INLINE void add_steps(const std::byte* x, const std::byte* w, std::int64_t steps) {
  for (std::int64_t k = 0; k < steps; ++k, x += kStepBytes, w += kTermBytes) {
    tile_load<6>(w);
    tile_load<7>(w + kTileBytes);
    tile_load<4>(x + kTermBytes);
    tile_load<5>(x + kTermBytes + kTileBytes);
    multiply_block();
    tile_load<4>(x);
    tile_load<5>(x + kTileBytes);
    multiply_block();
  }
}
MPLUS_INLINE void load_sums(const std::byte* from) {
  tile_load<0>(from);
  tile_load<1>(from + kTileBytes);
  tile_load<2>(from + 2 * kTileBytes);
  tile_load<3>(from + 3 * kTileBytes);
}
MPLUS_INLINE void store_sums(std::byte* to) {
  tile_store<0>(to);
  tile_store<1>(to + kTileBytes);
  tile_store<2>(to + 2 * kTileBytes);
  tile_store<3>(to + 3 * kTileBytes);
}

// Outputs n … n + kLanes - 1 of row m of a block.
MPLUS_INLINE F sum_at(const std::byte* sums, std::int64_t m, int n) {
  return load_bits<F>(sums + (m / kTileDim * 2 + n / kLanes) * kTileBytes + m % kTileDim * kVectorBytes);
}

// Columns 0 … kTilePairs - 1 of row t of x, or of what leaves rounded, in its tile; the next ones stand
// kStepBytes behind.
MPLUS_INLINE std::byte* rounded_row(std::byte* rows, std::int64_t columns, std::int64_t t) {
  return rows + t / kRows * tiles_of(columns) * kStepBytes + t % kRows * kVectorBytes;
}
// Both vectors of outputs of row t, to where the job wants them.
MPLUS_INLINE void put_row(const LinearJob& job, std::int64_t t, std::int64_t row0, F first, F second) {
  if (job.rounded_out != nullptr)
    return put_terms(rounded_row(job.rounded_out, job.outputs, t) + row0 / kTilePairs * kStepBytes,
                     row_terms(first, second));
  const std::int64_t valid = job.outputs - row0;
  float* out = job.out + t * job.out_stride + row0;
  put_values(job, out, first, valid);
  put_values(job, out + kLanes, second, valid - kLanes);
}

void put_block(const LinearJob& job, const std::byte* sums, std::int64_t t, std::int64_t row0) {
  const std::int64_t valid = job.outputs - row0;
  F scales[2] = {splat(job.scale), splat(job.scale)};
  if (job.dtype == DType::i8)
    for (int n = 0; n < 2; ++n)
      scales[n] = scales[n] * lane_rows(job, lanes_at(job, row0, n), job.outputs).scales;
  for (std::int64_t m = 0; m < min_of<std::int64_t>(kRows, job.T - t); ++m) {
    const F first = sum_at(sums, m, 0) * scales[0];
    const F second = valid > kLanes ? sum_at(sums, m, kLanes) * scales[1] : F{};
    put_row(job, t + m, row0, first, second);
  }
}

void put_gated(const LinearJob& job, const std::byte* gates, const std::byte* ups, std::int64_t t,
               std::int64_t row0) {
  const std::int64_t valid = job.outputs - row0;
  for (std::int64_t m = 0; m < min_of<std::int64_t>(kRows, job.T - t); ++m) {
    const auto value = [&](int n) { return silu_of(sum_at(gates, m, n)) * sum_at(ups, m, n); };
    const F first = value(0), second = valid > kLanes ? value(kLanes) : F{};
    put_row(job, t + m, row0, first, second);
  }
}

// Room of a share: 32 outputs' piece of weights and outer half, then sums that wait.
struct Room {
  std::byte* packed;
  std::byte* low;
  float* columns;
  std::byte* sums;
};

std::size_t packed_bytes(std::int64_t inputs) {
  return static_cast<std::size_t>(tiles_of(min_of(inputs, piece_columns(inputs))) * kTermBytes);
}
constexpr std::size_t kLowBytes = kMostLow / kTilePairs * kTermBytes, kColumnBytes = kLanes * kMostLow * 4;

Room room_in(std::byte* scratch, std::int64_t inputs) {
  std::byte* low = scratch + packed_bytes(inputs);
  return {scratch, low, reinterpret_cast<float*>(low + kLowBytes), low + kLowBytes + kColumnBytes};
}
std::int64_t blocks_of(const Share& share) { return (share.t1 - share.t0 + kRows - 1) / kRows; }

// Columns [begin, end) of the panel of outputs from row0 on.
struct Piece {
  std::int64_t row0, begin, end;
};

// A piece's sums, and those of the addition with the last piece of a panel; put(sums, t) gets those of a
// block when they are whole. Sums of a block wait at room.sums + block · sum_step.
template <class Put>
MPLUS_INLINE void run_piece(const LinearJob& job, const Room& room, const Piece& piece, const Share& share,
                            std::int64_t sum_step, const Put& put) {
  const auto row0 = piece.row0, begin = piece.begin, end = piece.end;
  const std::int64_t steps = tiles_of(end - begin), low_steps = tiles_of(job.low.inputs);
  const bool first = begin == 0, last = end == job.inputs, adds = last && job.low.rounded != nullptr;
  for_code_type(job.dtype, [&]<DType kType>() { pack<kType>(room.packed, job, row0, begin, end); });
  if (adds) pack_low(room.low, job, row0, room.columns);
  std::byte* sums = room.sums;
  for (std::int64_t t = share.t0; t < share.t1; t += kRows, sums += sum_step) {
    first ? zero_block() : load_sums(sums);
    add_steps(rounded_row(job.rounded, job.inputs, t) + begin / kTilePairs * kStepBytes, room.packed, steps);
    if (adds) add_steps(rounded_row(job.low.rounded, job.low.inputs, t), room.low, low_steps);
    store_sums(sums);
    if (last) put(sums, t);
  }
}

// f(begin, end) for every piece of columns; once where there are none: the product is zero.
template <class Function>
MPLUS_INLINE void for_pieces(std::int64_t inputs, const Function& f) {
  const std::int64_t columns = piece_columns(inputs);
  std::int64_t begin = 0;
  do f(begin, min_of(inputs, begin + columns));
  while ((begin += columns) < inputs);
}

}  // namespace

std::size_t rounded_bytes(std::int64_t T, std::int64_t inputs) {
  return static_cast<std::size_t>((T + kRows - 1) / kRows * tiles_of(inputs) * kStepBytes);
}

// Rows that a last block lacks stay as they are: nobody looks at their sums.
void round_rows(const LinearJob& job, std::int64_t t0, std::int64_t t1) {
  for (std::int64_t t = t0; t < t1; ++t) {
    const float* x = job.x + t * job.inputs;
    std::byte* to = rounded_row(job.rounded, job.inputs, t);
    for (std::int64_t i = 0; i < job.inputs; i += kTilePairs, to += kStepBytes)
      put_terms(to, row_terms(load(x + i), load(x + i + kLanes)));
  }
}

std::size_t batched_rounded_scratch(std::int64_t inputs, const Share& share) {
  const bool waiting = inputs > piece_columns(inputs);
  const std::int64_t blocks = waiting ? (share.panel1 - share.panel0) * blocks_of(share) : 1;
  return packed_bytes(inputs) + kLowBytes + kColumnBytes + static_cast<std::size_t>(blocks * kSumBytes);
}

void batched_rounded(const LinearJob& job, const Share& share, std::byte* scratch) {
  const TileState tiles;
  const bool waiting = job.inputs > piece_columns(job.inputs);
  for_pieces(job.inputs, [&](std::int64_t begin, std::int64_t end) {
    Room room = room_in(scratch, job.inputs);
    for (std::int64_t panel = share.panel0; panel < share.panel1; ++panel) {
      const std::int64_t row0 = panel * kOutputs;
      run_piece(job, room, {row0, begin, end}, share, waiting ? kSumBytes : 0,
                [&](const std::byte* sums, std::int64_t t) { put_block(job, sums, t, row0); });
      if (waiting) room.sums += blocks_of(share) * kSumBytes;
    }
  });
}

std::size_t gated_scratch(const LinearJob& gate, const Share& share) {
  return packed_bytes(gate.inputs) + kLowBytes + kColumnBytes +
         static_cast<std::size_t>(2 * (share.panel1 - share.panel0) * blocks_of(share) * kSumBytes);
}

// Sums of gate wait until those of up are there.
void gated(const LinearJob& gate, const LinearJob& up, const Share& share, std::byte* scratch) {
  const TileState tiles;
  for_pieces(gate.inputs, [&](std::int64_t begin, std::int64_t end) {
    Room room = room_in(scratch, gate.inputs);
    for (std::int64_t panel = share.panel0; panel < share.panel1; ++panel) {
      const std::int64_t row0 = panel * kOutputs;
      const std::byte* gates = room.sums;
      run_piece(gate, room, {row0, begin, end}, share, kSumBytes, [](const std::byte*, std::int64_t) {});
      room.sums += blocks_of(share) * kSumBytes;
      const std::byte* ups = room.sums;
      run_piece(up, room, {row0, begin, end}, share, kSumBytes, [&](const std::byte* sums, std::int64_t t) {
        put_gated(gate, gates + (sums - ups), sums, t, row0);
      });
      room.sums += blocks_of(share) * kSumBytes;
    }
  });
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
