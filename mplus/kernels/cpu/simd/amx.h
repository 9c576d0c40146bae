// Tiles of AMX: eight registers of 16 rows of 64 bytes. What is loaded with it stays in a register by name,
// so a kernel is a few lines that name them. One scope of TileState around a kernel's work; numbers of
// registers are constants.
#pragma once

#include <immintrin.h>

#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {

inline constexpr int kTileDim = 16;                       // rows, and columns of four bytes
inline constexpr std::int64_t kTileBytes = 16 * 64;       // of a tile whose rows follow each other
inline constexpr std::int64_t kTilePairs = 2 * kTileDim;  // columns of bf16 that a product sums up

// All tiles whole; the registers cost nothing to switch between threads when they are given back.
class TileState {
 public:
  TileState() {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    } config;
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  ~TileState() { asm volatile("tilerelease"); }
  TileState(const TileState&) = delete;
  TileState& operator=(const TileState&) = delete;
};

// In assembly: GCC's own functions are macros that take a register as a literal, and no template's constant.
template <int kTile>
MPLUS_INLINE void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kTile>
MPLUS_INLINE void tile_load(const void* from, std::int64_t row_bytes = 64) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(kTile) : "memory");
}
template <int kTile>
MPLUS_INLINE void tile_store(void* to, std::int64_t row_bytes = 64) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(kTile) : "memory");
}
// sums[m][n] += Σ_k a[m][2k] b[k][2n] + a[m][2k+1] b[k][2n+1], of bf16; k in order.
template <int kSums, int kA, int kB>
MPLUS_INLINE void tile_multiply() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kA), "i"(kB));
}

// Two floats of each lane as bf16 in one word, `low` in its lower half: both columns of a pair.
MPLUS_INLINE I bf16_pair(F low, F high) {
  alignas(64) static constexpr std::uint16_t kTurn[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                          21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                          11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
  return ints(_mm512_permutexvar_epi16(_mm512_load_si512(kTurn), both));
}
// Thirty-two floats as bf16, in order.
MPLUS_INLINE I bf16_row(F first, F second) { return reinterpret_cast<I>(_mm512_cvtne2ps_pbh(second, first)); }

// Floats as two terms of bf16, which leave 2^-17 of them.
struct Terms {
  I high, low;  // of bf16
};

MPLUS_INLINE F bf16_low_float(I pair) { return as_float(pair << 16); }
MPLUS_INLINE F bf16_high_float(I pair) { return as_float(pair & static_cast<std::int32_t>(0xffff0000u)); }
MPLUS_INLINE F bf16_floats(I row, int half) {
  const __m256i words = half == 0 ? _mm512_castsi512_si256(raw(row)) : _mm512_extracti64x4_epi64(raw(row), 1);
  return as_float(ints(_mm512_cvtepu16_epi32(words)) << 16);
}
// Neighbouring columns of a row, in order, and of lanes, in pairs.
MPLUS_INLINE Terms row_terms(F first, F second) {
  const I high = bf16_row(first, second);
  return {high, bf16_row(first - bf16_floats(high, 0), second - bf16_floats(high, 1))};
}
MPLUS_INLINE Terms pair_terms(F first, F second) {
  const I high = bf16_pair(first, second);
  return {high, bf16_pair(first - bf16_low_float(high), second - bf16_high_float(high))};
}

// A block of sums is tiles 0 … 3, two of rows by two of columns; tiles 4 and 5 are of one factor, 6 and 7 of
// the other.
MPLUS_INLINE void zero_block() {
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
}
MPLUS_INLINE void multiply_block() {
  tile_multiply<0, 4, 6>();
  tile_multiply<1, 4, 7>();
  tile_multiply<2, 5, 6>();
  tile_multiply<3, 5, 7>();
}

}  // namespace mplus::kernels::MPLUS_ISA
