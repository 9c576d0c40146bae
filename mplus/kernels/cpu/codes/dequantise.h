// Weights of any file type as exact f32 vectors: along a row (for matrix-vector products) and across rows
// (for packing panels). Each value is what a plain conversion gives: scale * q, or scale * q rounded, +
// minimum.
#pragma once

#include "mplus/core/numbers/dtype.h"
#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {

MPLUS_INLINE float half_at(const std::byte* p) {
  std::uint16_t h;
  __builtin_memcpy(&h, p, 2);
  return half_scalar(h);
}

// Types without blocks: element i of a row, alone.
template <DType kType>
MPLUS_INLINE float element(const std::byte* row, std::int64_t i, float row_scale) {
  if constexpr (kType == DType::f32) {
    float f;
    __builtin_memcpy(&f, row + 4 * i, 4);
    return f;
  } else if constexpr (kType == DType::i8) {
    return row_scale * static_cast<float>(static_cast<std::int8_t>(row[i]));
  } else if constexpr (kType == DType::f16) {
    return half_at(row + 2 * i);
  } else {
    std::uint16_t h;
    __builtin_memcpy(&h, row + 2 * i, 2);
    return as_float(splat(static_cast<std::int32_t>(std::uint32_t{h} << 16)))[0];
  }
}

// Types without blocks: elements i … i+kLanes-1 of a row.
template <DType kType>
MPLUS_INLINE F elements(const std::byte* row, std::int64_t i, float row_scale) {
  if constexpr (kType == DType::f32) return load_bits<F>(row + 4 * i);
  if constexpr (kType == DType::i8) return to_float(widen_i8(row + i)) * row_scale;
  if constexpr (kType == DType::f16) return half_to_float(widen_u16(row + 2 * i));
  if constexpr (kType == DType::bf16) return as_float(widen_u16(row + 2 * i) << 16);
}

// The 32 elements of a quantised block, in order.
inline constexpr int kBlockVectors = 32 / kLanes;
template <DType kType>
MPLUS_INLINE void block(F (&out)[kBlockVectors], const std::byte* p) {
  const F scale = splat(half_at(p));
  if constexpr (kType == DType::q8_0) {
    MPLUS_UNROLL for (int v = 0; v < kBlockVectors; ++v) {
      out[v] = scale * to_float(widen_i8(p + 2 + v * kLanes));
    }
  } else {
    constexpr int kHead = kType == DType::q4_1 ? 4 : 2;
    constexpr int kHalf = kBlockVectors / 2;
    MPLUS_UNROLL for (int v = 0; v < kHalf; ++v) {
      const I both = widen_u8(p + kHead + v * kLanes);
      if constexpr (kType == DType::q4_1) {
        const F minimum = splat(half_at(p + 2));
        out[v] = scale * to_float(both & 15) + minimum;
        out[kHalf + v] = scale * to_float(both >> 4) + minimum;
      } else {
        out[v] = scale * to_float((both & 15) - 8);
        out[kHalf + v] = scale * to_float((both >> 4) - 8);
      }
    }
  }
}

// One lane per row: packs `inputs` columns of kLanes rows so that column i stands at out + i * out_step.
// `offsets` are the rows' distances from base in bytes.
template <DType kType>
MPLUS_INLINE void pack_columns(float* out, std::int64_t out_step, const std::byte* base, I offsets,
                               std::int64_t inputs, F row_scale) {
  constexpr int kWidth = kType == DType::f32 ? 1 : kType == DType::i8 ? 4 : 2;  // elements in a word
  constexpr std::int64_t kElementBytes = 4 / kWidth;
  std::int64_t i = 0;
  for (; i + kWidth <= inputs; i += kWidth) {
    const I word = gather(base + i * kElementBytes, offsets);
    float* to = out + i * out_step;
    if constexpr (kType == DType::f32) {
      store(to, as_float(word));
    } else if constexpr (kType == DType::i8) {
      MPLUS_UNROLL for (int k = 0; k < 4; ++k) {
        store(to + k * out_step, row_scale * to_float((word << (24 - 8 * k)) >> 24));
      }
    } else if constexpr (kType == DType::f16) {
      store(to, half_to_float(word & 0xffff));
      store(to + out_step, half_to_float(shift_right_logical(word, 16)));
    } else {
      store(to, as_float(word << 16));
      store(to + out_step, as_float(word & static_cast<std::int32_t>(0xffff0000u)));
    }
  }
  for (; i < inputs; ++i)
    for (int lane = 0; lane < kLanes; ++lane)
      out[i * out_step + lane] = element<kType>(base + offsets[lane], i, row_scale[lane]);
}

template <DType kType>
MPLUS_INLINE void pack_blocks(float* out, std::int64_t out_step, const std::byte* base, I offsets,
                              std::int64_t inputs) {
  constexpr std::int64_t kBytes = kType == DType::q8_0 ? 34 : kType == DType::q4_0 ? 18 : 20;
  constexpr std::int64_t kHead = kType == DType::q4_1 ? 4 : 2;
  for (std::int64_t b = 0; b < inputs / 32; ++b, base += kBytes, out += 32 * out_step) {
    const I head = gather(base, offsets);
    const F scale = half_to_float(head & 0xffff);
    if constexpr (kType == DType::q8_0) {
      for (int k = 0; k < 8; ++k) {
        const I word = gather(base + kHead + 4 * k, offsets);
        MPLUS_UNROLL for (int j = 0; j < 4; ++j) {
          store(out + (4 * k + j) * out_step, scale * to_float((word << (24 - 8 * j)) >> 24));
        }
      }
    } else {
      const F minimum = half_to_float(shift_right_logical(head, 16));
      const auto value = [&](I q) {
        if constexpr (kType == DType::q4_1) return scale * to_float(q & 15) + minimum;
        return scale * to_float((q & 15) - 8);
      };
      for (int k = 0; k < 4; ++k) {
        const I word = gather(base + kHead + 4 * k, offsets);
        MPLUS_UNROLL for (int j = 0; j < 4; ++j) {
          store(out + (4 * k + j) * out_step, value(word >> (8 * j)));
          store(out + (16 + 4 * k + j) * out_step, value(word >> (8 * j + 4)));
        }
      }
    }
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
