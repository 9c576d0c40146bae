// Codes of 32 neighbouring columns of kLanes rows, for packing panels of weights.
#pragma once

#include "mplus/kernels/cpu/codes.h"
#include "mplus/kernels/cpu/lane_words.h"
#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::MPLUS_ISA {

typedef std::int8_t LaneBytes __attribute__((vector_size(kVectorBytes)));

struct LaneCodes {
  I words[8];  // in lanes: word k of a lane holds columns 4k … 4k+3 as bytes; in pairs: see lane_words.h
  F scale;
  F second;  // the minimum, or the scale of columns 16 … 31 (has_half_scales)
};

// Where kLanes rows begin, and the scales of rows of i8.
struct LaneRows {
  const std::byte* base;
  I offsets;
  F scales;
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

// What the blocks that begin at one place have in common. Types whose blocks stand alone have no more than
// scale and second.
struct LaneHead {
  F scale;
  F second;
  I scales[4];  // K-quants; a byte each. Q4_K, Q5_K: scales 0 … 3 and 4 … 7, minima the same; Q6_K: in order
};

template <DType kType>
MPLUS_INLINE LaneHead lane_head(const LaneRows& rows, const std::byte* p) {
  const I offsets = rows.offsets;
  LaneHead out;
  if constexpr (kType == DType::i8) {
    out.scale = rows.scales;
    return out;
  }
  if constexpr (kType == DType::q6_k) {
    out.scale = half_to_float(shift_right_logical(gather(p + 206, offsets), 16));
    gather_lanes(out.scales, p + 192, offsets);
    return out;
  }
  if constexpr (!is_k_quant(kType)) {
    const I head = gather(p, offsets);
    out.scale = half_to_float(head & 0xffff);
    out.second = half_to_float(shift_right_logical(head, 16));
    return out;
  }
  I head[4];  // scale and minimum, then the bytes of BlockQ4_K::scales in core/dtype.h
  gather_lanes(head, p, offsets);
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

template <DType kType>
MPLUS_INLINE void five_bit_lanes(I (&words)[8], const std::byte* p, I offsets) {
  constexpr std::int64_t kHead = kType == DType::q5_1 ? 4 : 2;
  const I fifth = gather(p + kHead, offsets);
  for (int k = 0; k < 8; ++k) {
    I word = byte_bits(gather(p + kHead + 4 + 4 * (k % 4), offsets), 4 * (k / 4), 15, 0);
    MPLUS_UNROLL for (int j = 0; j < 4; ++j) {
      word = word | ((shift_right_logical(fifth, 4 * k + j) & 1) << (8 * j + 4));
    }
    words[k] = kType == DType::q5_0 ? subtract_bytes<LaneBytes>(word, 16) : word;
  }
}

// Words 4 half … 4 half + 3 of block b of those that begin at p, where a code's bits stand in its own byte.
template <DType kType, Order kOrder>
MPLUS_INLINE void half_codes(I* words, const std::byte* p, I offsets, int b, int half) {
  I low[4], high[4];
  if constexpr (kType == DType::q8_0 || kType == DType::i8) {
    gather_words<kOrder>(low, p + (kType == DType::i8 ? 0 : 2) + 16 * half, offsets);
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) words[k] = low[k];
  } else if constexpr (!is_k_quant(kType)) {
    gather_words<kOrder>(low, p + (kType == DType::q4_1 ? 4 : 2), offsets);
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) words[k] = byte_bits(low[k], 4 * half, 15, 0);
  } else if constexpr (kType == DType::q6_k) {
    const int part = b % 4;
    gather_words<kOrder>(low, p + 64 * (b / 4) + 32 * (part % 2) + 16 * half, offsets);
    gather_words<kOrder>(high, p + 128 + 32 * (b / 4) + 16 * half, offsets);
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) {
      const I word = byte_bits(low[k], 4 * (part / 2), 15, 0) | byte_bits(high[k], 2 * part, 3, 4);
      words[k] = subtract_bytes<LaneBytes>(word, 32);
    }
  } else {
    gather_words<kOrder>(low, p + (kType == DType::q5_k ? 48 : 16) + 32 * (b / 2) + 16 * half, offsets);
    if constexpr (kType == DType::q5_k) gather_words<kOrder>(high, p + 16 + 16 * half, offsets);
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) {
      words[k] = byte_bits(low[k], 4 * (b % 2), 15, 0);
      if constexpr (kType == DType::q5_k) words[k] = words[k] | byte_bits(high[k], b, 1, 4);
    }
  }
}

// f(b, codes) for every block of kLanes rows.
template <DType kType, Order kOrder, class Function>
MPLUS_INLINE void for_lane_blocks(const LaneRows& rows, std::int64_t inputs, const Function& f) {
  constexpr int kBlocks = static_cast<int>(stored_elements(kType) / kQuantBlock);
  const std::byte* p = rows.base;
  for (std::int64_t first = 0; first < inputs / kQuantBlock; first += kBlocks, p += stored_bytes(kType)) {
    const LaneHead head = lane_head<kType>(rows, p);
    MPLUS_UNROLL for (int b = 0; b < kBlocks; ++b) {
      LaneCodes codes;
      lane_scales<kType>(codes, head, b);
      if constexpr (kType == DType::q5_0 || kType == DType::q5_1) {
        five_bit_lanes<kType>(codes.words, p, rows.offsets);
        arrange<kOrder>(codes.words);
      } else {
        half_codes<kType, kOrder>(codes.words, p, rows.offsets, b, 0);
        half_codes<kType, kOrder>(codes.words + 4, p, rows.offsets, b, 1);
      }
      f(first + b, codes);
    }
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
