// Weights as codes: 32 integers with one scale (or one for each half), and a minimum where the type has one.
// What the types that meet integer activations have in common, whatever their blocks look like. Types without
// a minimum have signed codes. Rows of i8 are blocks of 32 bytes with one scale for all.
#pragma once

#include "mplus/core/numbers/dtype.h"
#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {

constexpr bool has_codes(DType t) { return t >= DType::q5_0; }
constexpr bool has_bytes(DType t) { return t == DType::q8_0 || t == DType::i8; }  // codes of eight bits
constexpr bool has_minimum(DType t) {
  return t == DType::q4_1 || t == DType::q5_1 || t == DType::q4_k || t == DType::q5_k;
}
// Codes without a minimum are signed bytes; 4-bit ones count from 0.
constexpr bool has_signed_codes(DType t) { return !has_minimum(t) && t != DType::q4_0; }
constexpr bool has_half_scales(DType t) { return t == DType::q6_k; }  // 16 elements each
constexpr bool is_k_quant(DType t) { return t >= DType::q4_k; }

constexpr std::int64_t stored_elements(DType t) { return t == DType::i8 ? kQuantBlock : block_elements(t); }
constexpr std::int64_t stored_bytes(DType t) {
  return t == DType::i8 ? kQuantBlock : static_cast<std::int64_t>(block_bytes(t));
}

// What a tile's codes are too large by.
constexpr std::int32_t code_offset(DType t) { return has_bytes(t) ? kByteOffset : t == DType::q4_0 ? 8 : 0; }

// The block of 32 with number b begins here, or is part of what begins here.
template <DType kType>
MPLUS_INLINE const std::byte* block_at(const std::byte* row, std::int64_t b) {
  constexpr auto kBytes = static_cast<std::int64_t>(block_bytes(kType));
  return row + b / (block_elements(kType) / kQuantBlock) * kBytes;  // NOLINT: codes have blocks of 32 or more
}

// Calls f.template operator()<kType>() for the type of such weights.
template <class Function>
MPLUS_INLINE void for_code_type(DType type, const Function& f) {
  if (type == DType::i8) f.template operator()<DType::i8>();
  if (type == DType::q8_0) f.template operator()<DType::q8_0>();
  if (type == DType::q4_0) f.template operator()<DType::q4_0>();
  if (type == DType::q4_1) f.template operator()<DType::q4_1>();
  if (type == DType::q5_0) f.template operator()<DType::q5_0>();
  if (type == DType::q5_1) f.template operator()<DType::q5_1>();
  if (type == DType::q4_k) f.template operator()<DType::q4_k>();
  if (type == DType::q5_k) f.template operator()<DType::q5_k>();
  if (type == DType::q6_k) f.template operator()<DType::q6_k>();
}

inline constexpr std::int32_t kEveryByte = 0x01010101;

// (c >> from & mask) << to in each byte of vectors of words, signed or not.
template <class Word>
MPLUS_INLINE Word byte_bits(Word c, int from, std::int32_t mask, int to) {
  return ((c >> from) & (mask * kEveryByte)) << to;
}
// c - offset in each byte; Bytes is a vector of them as large as Word.
template <class Bytes, class Word>
MPLUS_INLINE Word subtract_bytes(Word c, std::int8_t offset) {
  return reinterpret_cast<Word>(reinterpret_cast<Bytes>(c) - offset);
}

}  // namespace mplus::kernels::MPLUS_ISA
