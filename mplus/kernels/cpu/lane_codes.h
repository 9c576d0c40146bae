// Codes of 32 neighbouring columns of kLanes rows, one lane a row: for packing panels of weights.
#pragma once

#include "mplus/kernels/cpu/codes.h"

namespace mplus::kernels::MPLUS_ISA {

typedef std::int8_t LaneBytes __attribute__((vector_size(kVectorBytes)));

struct LaneCodes {
  I words[8];  // word k of a lane holds columns 4k … 4k+3 as bytes
  F scale;
  F second;  // the minimum, or the scale of columns 16 … 31 (has_half_scales)
};

// Scale and minimum of block b < 8: BlockQ4_K in core/dtype.h says where their bits are.
MPLUS_INLINE void lane_scales(LaneCodes& out, const std::byte* p, I offsets, int b) {
  const I head = gather(p, offsets), low = gather(p + 4, offsets), middle = gather(p + 8, offsets);
  const int shift = 8 * (b % 4);
  I scale = shift_right_logical(low, shift) & 63, minimum = shift_right_logical(middle, shift) & 63;
  if (b >= 4) {
    const I high = shift_right_logical(gather(p + 12, offsets), shift);
    scale = (high & 15) | ((shift_right_logical(low, shift + 6) & 3) << 4);
    minimum = ((high >> 4) & 15) | ((shift_right_logical(middle, shift + 6) & 3) << 4);
  }
  out.scale = half_to_float(head & 0xffff) * to_float(scale);
  out.second = -(half_to_float(shift_right_logical(head, 16)) * to_float(minimum));
}

template <DType kType>
MPLUS_INLINE LaneCodes five_bit_lanes(const std::byte* p, I offsets) {
  constexpr std::int64_t kHead = kType == DType::q5_1 ? 4 : 2;
  LaneCodes out;
  const I head = gather(p, offsets), fifth = gather(p + kHead, offsets);
  out.scale = half_to_float(head & 0xffff);
  out.second = half_to_float(shift_right_logical(head, 16));
  for (int k = 0; k < 8; ++k) {
    I word = byte_bits(gather(p + kHead + 4 + 4 * (k % 4), offsets), 4 * (k / 4), 15, 0);
    MPLUS_UNROLL for (int j = 0; j < 4; ++j) {
      word = word | ((shift_right_logical(fifth, 4 * k + j) & 1) << (8 * j + 4));
    }
    out.words[k] = kType == DType::q5_0 ? subtract_bytes<LaneBytes>(word, 16) : word;
  }
  return out;
}

template <DType kType>
MPLUS_INLINE LaneCodes lane_codes(const std::byte* row, I offsets, std::int64_t block) {
  const std::byte* p = block_at<kType>(row, block);
  if constexpr (!is_k_quant(kType)) return five_bit_lanes<kType>(p, offsets);
  LaneCodes out;
  const int b = static_cast<int>(block % 8);
  if constexpr (kType == DType::q6_k) {
    const int half = b / 4, part = b % 4;
    for (int k = 0; k < 8; ++k) {
      const I low = gather(p + 64 * half + 32 * (part % 2) + 4 * k, offsets);
      const I high = gather(p + 128 + 32 * half + 4 * k, offsets);
      const I word = byte_bits(low, 4 * (part / 2), 15, 0) | byte_bits(high, 2 * part, 3, 4);
      out.words[k] = subtract_bytes<LaneBytes>(word, 32);
    }
    const F scale = half_to_float(shift_right_logical(gather(p + 206, offsets), 16));
    const I scales = gather(p + 192 + 4 * (b / 2), offsets) >> (16 * (b % 2));
    out.scale = scale * to_float((scales << 24) >> 24);
    out.second = scale * to_float((scales << 16) >> 24);
  } else {
    constexpr std::int64_t kCodes = kType == DType::q5_k ? 48 : 16;
    lane_scales(out, p, offsets, b);
    for (int k = 0; k < 8; ++k) {
      out.words[k] = byte_bits(gather(p + kCodes + 32 * (b / 2) + 4 * k, offsets), 4 * (b % 2), 15, 0);
      if constexpr (kType == DType::q5_k)
        out.words[k] = out.words[k] | byte_bits(gather(p + 16 + 4 * k, offsets), b, 1, 4);
    }
  }
  return out;
}

}  // namespace mplus::kernels::MPLUS_ISA
