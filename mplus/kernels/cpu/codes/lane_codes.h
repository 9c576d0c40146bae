// Codes of 32 neighbouring columns of kLanes rows, for packing panels of weights.
#pragma once

#include "mplus/kernels/cpu/codes/codes.h"
#include "mplus/kernels/cpu/codes/lane_words.h"
#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::MPLUS_ISA {

typedef std::int8_t LaneBytes __attribute__((vector_size(kVectorBytes)));

struct LaneCodes {
  I words[8];  // in lanes: word k of a lane holds columns 4k … 4k+3 as bytes; in pairs: see lane_words.h
  F scale;
  F second;  // the minimum, or the scale of columns 16 … 31 (has_half_scales)
};

// Byte j of a block's word, before its scale.
template <DType kType>
MPLUS_INLINE I code_of(I word, int j) {
  if constexpr (has_signed_codes(kType)) return (word << (24 - 8 * j)) >> 24;
  return shift_right_logical(word, 8 * j) & 0xff;
}

// Codes of eight bits as the instruction set multiplies them: signed, or plus 128.
template <DType kType>
MPLUS_INLINE void offset_codes(LaneCodes& codes) {
  constexpr auto kFlip = static_cast<std::int32_t>(0x80808080u);
  if constexpr (has_bytes(kType) && kByteOffset != 0)
    for (I& word : codes.words) word = word ^ kFlip;
}

// Where kLanes rows begin, and the scales of rows of i8.
struct LaneRows {
  const std::byte* base;
  I offsets;
  F scales;

  MPLUS_INLINE RowBlocks blocks(std::int64_t at) const { return {base + at, offsets}; }
};

// Of rows row0 … row0 + kLanes - 1; lanes from `end` on repeat the last row.
MPLUS_INLINE LaneRows lane_rows(const LinearJob& job, std::int64_t row0, std::int64_t end) {
  LaneRows rows{job.w + row0 * job.row_bytes, I{}, F{}};
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::int64_t row = min_of<std::int64_t>(lane, end - 1 - row0);
    rows.offsets[lane] = static_cast<std::int32_t>(row * job.row_bytes);
    if (job.dtype == DType::i8) rows.scales[lane] = job.row_scales[row0 + row];
  }
  return rows;
}

#if defined(MPLUS_INTERLEAVED)
// The same of kLanes interleaved rows; row0 is a multiple of kLanes.
struct InterleavedRows {
  const std::byte* base;
  F scales;

  MPLUS_INLINE InterleavedBlocks blocks(std::int64_t at) const { return {base + kLanes * at}; }
};

MPLUS_INLINE InterleavedRows interleaved_rows(const LinearJob& job, std::int64_t row0, std::int64_t end) {
  InterleavedRows rows{job.w + row0 * job.row_bytes, F{}};
  if (job.dtype != DType::i8) return rows;
  for (int lane = 0; lane < kLanes; ++lane)
    rows.scales[lane] = job.row_scales[row0 + min_of<std::int64_t>(lane, end - 1 - row0)];
  return rows;
}

// Asks for what stands kPrefetchBytes behind block b of 32 columns, as prefetch_rows does.
template <DType kType>
MPLUS_INLINE void prefetch_block([[maybe_unused]] const InterleavedRows& rows,
                                 [[maybe_unused]] std::int64_t b) {
#if !defined(MPLUS_ISA_NEON)
  constexpr std::int64_t kBytes = kLanes * stored_bytes(kType) / (stored_elements(kType) / kQuantBlock);
  MPLUS_UNROLL for (std::int64_t i = 0; i < kBytes; i += 64) prefetch(rows.base + b * kBytes + i);
#endif
}
#endif

// What the blocks that begin at one place have in common. Types whose blocks stand alone have no more than
// scale and second.
struct LaneHead {
  F scale;
  F second;
  I scales[4];  // K-quants; a byte each. Q4_K, Q5_K: scales 0 … 3 and 4 … 7, minima the same; Q6_K: in order
};

// row_scales: those of rows of i8.
template <DType kType, class Blocks>
MPLUS_INLINE LaneHead lane_head(F row_scales, const Blocks& blocks) {
  LaneHead out;
  if constexpr (kType == DType::i8) {
    out.scale = row_scales;
    return out;
  }
  if constexpr (kType == DType::q6_k) {
    out.scale = blocks.halves(208);
    blocks.lanes(out.scales, 192);
    return out;
  }
  if constexpr (!is_k_quant(kType)) {
    out.scale = blocks.halves(0);
    if constexpr (has_minimum(kType)) out.second = blocks.halves(2);
    return out;
  }
  I head[4];  // scale and minimum, then the bytes of BlockQ4_K::scales in core/numbers/dtype.h
  blocks.lanes(head, 0);
  out.scale = half_to_float(head[0] & 0xffff);
  out.second = half_to_float(shift_right_logical(head[0], 16));
  out.scales[0] = head[1] & 0x3f3f3f3f;
  out.scales[1] = (head[3] & 0x0f0f0f0f) | (shift_right_logical(head[1], 2) & 0x30303030);
  out.scales[2] = head[2] & 0x3f3f3f3f;
  out.scales[3] =
      (shift_right_logical(head[3], 4) & 0x0f0f0f0f) | (shift_right_logical(head[2], 2) & 0x30303030);
  return out;
}

// Scale and minimum, or both scales, of block b < 8.
template <DType kType>
MPLUS_INLINE void lane_scales(LaneCodes& out, const LaneHead& head, int b) {
  if constexpr (kType == DType::q6_k) {
    const I both = head.scales[b / 2] >> (16 * (b % 2));
    out.scale = head.scale * to_float((both << 24) >> 24);
    out.second = head.scale * to_float((both << 16) >> 24);
  } else if constexpr (is_k_quant(kType)) {
    const int shift = 8 * (b % 4);
    out.scale = head.scale * to_float((head.scales[b / 4] >> shift) & 63);
    out.second = -(head.second * to_float((head.scales[2 + b / 4] >> shift) & 63));
  } else {
    out.scale = head.scale;
    out.second = head.second;
  }
}

template <DType kType, class Blocks>
MPLUS_INLINE void five_bit_lanes(I (&words)[8], const Blocks& blocks) {
  constexpr int kHead = kType == DType::q5_1 ? 4 : 2;
  const I fifth = blocks.words(kHead);
  I low[4];
  blocks.template codes<Order::lanes>(low, kHead + 4);
  for (int k = 0; k < 8; ++k) {
    I word = nibbles(low[k % 4], k / 4);
    MPLUS_UNROLL for (int j = 0; j < 4; ++j) {
      word = word | ((shift_right_logical(fifth, 4 * k + j) & 1) << (8 * j + 4));
    }
    words[k] = kType == DType::q5_0 ? subtract_bytes<LaneBytes>(word, 16) : word;
  }
}

// Words 4 half … 4 half + 3 of block b of those that begin here, where a code's bits stand in its own byte.
template <DType kType, Order kOrder, class Blocks>
MPLUS_INLINE void half_codes(I* words, const Blocks& blocks, int b, int half) {
  I low[4], high[4];
  if constexpr (kType == DType::q8_0 || kType == DType::i8) {
    blocks.template codes<kOrder>(low, (kType == DType::i8 ? 0 : 2) + 16 * half);
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) words[k] = low[k];
  } else if constexpr (!is_k_quant(kType)) {
    blocks.template codes<kOrder>(low, (kType == DType::q4_1 ? 4 : 2));
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) words[k] = nibbles(low[k], half);
  } else if constexpr (kType == DType::q6_k) {
    const int part = b % 4;
    blocks.template codes<kOrder>(low, 64 * (b / 4) + 32 * (part % 2) + 16 * half);
    blocks.template codes<kOrder>(high, 128 + 32 * (b / 4) + 16 * half);
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) {
      const I word = nibbles(low[k], part / 2) | byte_bits(high[k], 2 * part, 3, 4);
      words[k] = subtract_bytes<LaneBytes>(word, 32);
    }
  } else {
    blocks.template codes<kOrder>(low, (kType == DType::q5_k ? 48 : 16) + 32 * (b / 2) + 16 * half);
    if constexpr (kType == DType::q5_k) blocks.template codes<kOrder>(high, 16 + 16 * half);
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) {
      words[k] = nibbles(low[k], b % 2);
      if constexpr (kType == DType::q5_k) words[k] = words[k] | byte_bits(high[k], b, 1, 4);
    }
  }
}

// Block b of those that begin here.
template <DType kType, Order kOrder, class Blocks>
MPLUS_INLINE LaneCodes lane_codes(const Blocks& blocks, const LaneHead& head, int b) {
  LaneCodes codes;
  lane_scales<kType>(codes, head, b);
  if constexpr (kType == DType::q5_0 || kType == DType::q5_1) {
    five_bit_lanes<kType>(codes.words, blocks);
    arrange<kOrder>(codes.words);
  } else {
    half_codes<kType, kOrder>(codes.words, blocks, b, 0);
    half_codes<kType, kOrder>(codes.words + 4, blocks, b, 1);
  }
  return codes;
}

// f(b, codes) for every block of kLanes rows; of columns [begin, end), where begin is one of a stored block.
template <DType kType, Order kOrder, class Rows, class Function>
MPLUS_INLINE void for_lane_blocks(const Rows& rows, std::int64_t begin, std::int64_t end, const Function& f) {
  constexpr int kBlocks = static_cast<int>(stored_elements(kType) / kQuantBlock);
  std::int64_t at = begin / stored_elements(kType) * stored_bytes(kType);
  for (std::int64_t first = begin / kQuantBlock; first < end / kQuantBlock;
       first += kBlocks, at += stored_bytes(kType)) {
    const auto blocks = rows.blocks(at);
    const LaneHead head = lane_head<kType>(rows.scales, blocks);
    MPLUS_UNROLL for (int b = 0; b < kBlocks; ++b) {
      LaneCodes codes = lane_codes<kType, kOrder>(blocks, head, b);
      f(first + b, codes);
    }
  }
}

template <DType kType, Order kOrder, class Rows, class Function>
MPLUS_INLINE void for_lane_blocks(const Rows& rows, std::int64_t inputs, const Function& f) {
  for_lane_blocks<kType, kOrder>(rows, 0, inputs, f);
}

}  // namespace mplus::kernels::MPLUS_ISA
