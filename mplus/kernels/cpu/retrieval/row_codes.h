// Codes of 32 neighbouring weights of one row, for matrix-vector products.
#pragma once

#include "mplus/kernels/cpu/codes/codes.h"
#include "mplus/kernels/cpu/codes/dequantise.h"
#include "mplus/kernels/cpu/linear/dot_block.h"
#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_ISA_AVX512) || defined(MPLUS_ISA_AVX2)
inline constexpr int kCodeBytes = 32;
#else
inline constexpr int kCodeBytes = 16;
#endif
typedef std::int32_t CodeWords __attribute__((vector_size(kCodeBytes)));
typedef std::int8_t CodeBytes __attribute__((vector_size(kCodeBytes)));
inline constexpr int kCodeParts = 32 / kCodeBytes;

struct RowCodes {  // 32 bytes, in order
  CodeWords part[kCodeParts];
};

MPLUS_INLINE RowCodes load_codes(const void* p) { return load_bits<RowCodes>(p); }

// Bit i of four bytes, as bit 4 of byte i.
MPLUS_INLINE RowCodes fifth_bits(const std::byte* p) {
  std::uint64_t spread[4];
  for (int k = 0; k < 4; ++k) {
    const std::uint64_t bits = (static_cast<std::uint64_t>(p[k]) * 0x0101010101010101u) & 0x8040201008040201u;
    spread[k] = ((bits + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u) >> 3;
  }
  return load_codes(spread);
}

template <DType kType>
MPLUS_INLINE RowCodes five_bit_codes(const std::byte* p) {
  constexpr std::int64_t kHead = kType == DType::q5_1 ? 4 : 2;
  std::uint64_t q[4];
  __builtin_memcpy(q, p + kHead + 4, 16);
  for (int k = 0; k < 2; ++k) {
    q[2 + k] = (q[k] >> 4) & 0x0f0f0f0f0f0f0f0fu;
    q[k] &= 0x0f0f0f0f0f0f0f0fu;
  }
  RowCodes out = load_codes(q);
  const RowCodes fifth = fifth_bits(p + kHead);
  for (int i = 0; i < kCodeParts; ++i) {
    out.part[i] = out.part[i] | fifth.part[i];
    if constexpr (kType == DType::q5_0) out.part[i] = subtract_bytes<CodeBytes>(out.part[i], 16);
  }
  return out;
}

// Sixteen bytes: their lower halves, then their upper ones.
MPLUS_INLINE RowCodes nibble_codes(const std::byte* p) {
  RowCodes out;
#if defined(MPLUS_ISA_AVX512) || defined(MPLUS_ISA_AVX2)
  const __m256i both = _mm256_broadcastsi128_si256(load_bits<__m128i>(p));
  const __m256i shifted = _mm256_srlv_epi32(both, _mm256_set_epi32(4, 4, 4, 4, 0, 0, 0, 0));
  out.part[0] = reinterpret_cast<CodeWords>(_mm256_and_si256(shifted, _mm256_set1_epi8(15)));
#else
  const auto both = load_bits<CodeWords>(p);
  out.part[0] = byte_bits(both, 0, 15, 0);
  out.part[1] = byte_bits(both, 4, 15, 0);
#endif
  return out;
}

// Of block b of the blocks that begin at p.
template <DType kType>
MPLUS_INLINE RowCodes row_codes(const std::byte* p, int b) {
  RowCodes out;
  if constexpr (kType == DType::i8) return load_codes(p);
  if constexpr (kType == DType::q8_0) return load_codes(p + 2);
  if constexpr (kType == DType::q4_1) return nibble_codes(p + 4);
  if constexpr (kType == DType::q4_0) {
    out = nibble_codes(p + 2);
    for (CodeWords& part : out.part) part = subtract_bytes<CodeBytes>(part, 8);
    return out;
  }
  if constexpr (kType == DType::q5_0 || kType == DType::q5_1) return five_bit_codes<kType>(p);
  if constexpr (kType == DType::q6_k) {
    const int half = b / 4, part = b % 4;
    const RowCodes low = load_codes(p + 64 * half + 32 * (part % 2)), high = load_codes(p + 128 + 32 * half);
    MPLUS_UNROLL for (int i = 0; i < kCodeParts; ++i) {
      const CodeWords word =
          byte_bits(low.part[i], 4 * (part / 2), 15, 0) | byte_bits(high.part[i], 2 * part, 3, 4);
      out.part[i] = subtract_bytes<CodeBytes>(word, 32);
    }
  } else {
    const RowCodes both = load_codes(p + (kType == DType::q5_k ? 48 : 16) + 32 * (b / 2));
    MPLUS_UNROLL for (int i = 0; i < kCodeParts; ++i) out.part[i] =
        byte_bits(both.part[i], 4 * (b % 2), 15, 0);
    if constexpr (kType == DType::q5_k) {
      const RowCodes high = load_codes(p + 16);
      MPLUS_UNROLL for (int i = 0; i < kCodeParts; ++i) out.part[i] =
          out.part[i] | byte_bits(high.part[i], b, 1, 4);
    }
  }
  return out;
}

// Scale and minimum of each of the eight blocks of a Q4_K or Q5_K, in pairs.
MPLUS_INLINE void six_bit_pairs(float (&pairs)[16], const std::byte* p) {
  typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));
  std::uint32_t packed[3], words[4];  // words: scales 0 … 7, minima 0 … 7
  __builtin_memcpy(packed, p + 4, 12);
  words[0] = packed[0] & 0x3f3f3f3fu;
  words[1] = (packed[2] & 0x0f0f0f0fu) | ((packed[0] >> 2) & 0x30303030u);
  words[2] = packed[1] & 0x3f3f3f3fu;
  words[3] = ((packed[2] >> 4) & 0x0f0f0f0fu) | ((packed[1] >> 2) & 0x30303030u);
  const auto each = load_bits<Bytes16>(words);
  const Bytes16 paired =
      __builtin_shufflevector(each, each, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  std::uint8_t bytes[16];
  store_bits(bytes, paired);
  const float scale = half_at(p), minimum = -half_at(p + 2);
  F both;
  for (int lane = 0; lane < kLanes; ++lane) both[lane] = lane % 2 == 0 ? scale : minimum;
  MPLUS_UNROLL for (int i = 0; i < 16; i += kLanes) {
    store(pairs + i, both * to_float(widen_u8(bytes + i)));
  }
}

// The 32 values of block b of those that begin at p.
template <DType kType>
MPLUS_INLINE void code_values(F (&out)[kBlockVectors], const std::byte* p, int b) {
  float first, second;  // scale and minimum, or the scales of both halves
  if constexpr (kType == DType::q6_k) {
    const float scale = half_at(p + 208);
    first = scale * static_cast<float>(static_cast<std::int8_t>(p[192 + 2 * b]));
    second = scale * static_cast<float>(static_cast<std::int8_t>(p[193 + 2 * b]));
  } else if constexpr (is_k_quant(kType)) {
    float pairs[16];
    six_bit_pairs(pairs, p);
    first = pairs[2 * b];
    second = pairs[2 * b + 1];
  } else {
    first = half_at(p);
    second = kType == DType::q5_1 ? half_at(p + 2) : 0.0f;
  }
  const RowCodes codes = row_codes<kType>(p, b);
  MPLUS_UNROLL for (int v = 0; v < kBlockVectors; ++v) {
    const std::byte* at = reinterpret_cast<const std::byte*>(&codes) + v * kLanes;
    const float scale = has_half_scales(kType) && v >= kBlockVectors / 2 ? second : first;
    out[v] = splat(scale) * to_float(widen_i8(at));
    if constexpr (has_minimum(kType)) out[v] = out[v] + second;
  }
}

// acc + integer dot products with 32 int8 activations, as partial sums in a few lanes.
template <DType kType>
MPLUS_INLINE DotI dot_codes(DotI acc, const RowCodes& w, const std::int8_t* a) {
#if defined(MPLUS_ISA_AVX512) || defined(MPLUS_ISA_AVX2)
  __m256i codes = reinterpret_cast<__m256i>(w.part[0]), x = load_bits<__m256i>(a);
  if constexpr (!has_minimum(kType)) {
    x = _mm256_sign_epi8(x, codes);
    codes = _mm256_abs_epi8(codes);
  }
#if defined(MPLUS_ISA_AVX512)
  return _mm256_dpbusd_epi32(acc, codes, x);
#else
  const __m256i pairs = _mm256_maddubs_epi16(codes, x);
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
#else
  return dot4(dot4(acc, w.part[0], load_bits<I>(a)), w.part[1], load_bits<I>(a + 16));
#endif
}

// With both terms of a block's activations; a: the first.
template <DType kType>
MPLUS_INLINE DotI dot_terms(const RowCodes& w, const std::int8_t* a) {
  return dot_codes<kType>(dot_shift(dot_codes<kType>(DotI{}, w, a)), w, a + 32);
}

// The same with each half multiplied by an integer of its own: 2 · 4 · 32 · 128² · 128 fits 32 bits.
MPLUS_INLINE DotI dot_half_terms(const RowCodes& w, const std::int8_t* a, std::int32_t first,
                                 std::int32_t second) {
#if defined(MPLUS_ISA_AVX512) || defined(MPLUS_ISA_AVX2)
  const __m256i scales = _mm256_set_m128i(_mm_set1_epi32(second), _mm_set1_epi32(first));
  return _mm256_mullo_epi32(dot_terms<DType::q6_k>(w, a), scales);
#else
  const auto half = [&](int i) {
    const I dot = dot4(I{}, w.part[i], load_bits<I>(a + 16 * i));
    return dot4(dot << kTermBits, w.part[i], load_bits<I>(a + 32 + 16 * i));
  };
  return half(0) * first + half(1) * second;
#endif
}

}  // namespace mplus::kernels::MPLUS_ISA
