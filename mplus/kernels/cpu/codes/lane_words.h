// Sixteen bytes of each of kLanes rows as four vectors.
//   lanes: vector k has bytes 4k … 4k+3 of every row, one lane a row.
//   pairs, for matrix instructions: vectors 0 and 2 have bytes 0 … 7 and 8 … 15 of rows 0 and 1, vectors 1
//   and 3 of rows 2 and 3.
// `offsets` are the rows' distances from p.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {

enum class Order { lanes, pairs };

MPLUS_INLINE void gather_lanes(I (&out)[4], const std::byte* p, I offsets) {
#if defined(MPLUS_ISA_NEON)
  const auto row = [&](int r) { return load_bits<int32x4_t>(p + offsets[r]); };
  const int32x4_t r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  const int32x4_t low02 = vzip1q_s32(r0, r2), high02 = vzip2q_s32(r0, r2);
  const int32x4_t low13 = vzip1q_s32(r1, r3), high13 = vzip2q_s32(r1, r3);
  out[0] = ints(vzip1q_s32(low02, low13));
  out[1] = ints(vzip2q_s32(low02, low13));
  out[2] = ints(vzip1q_s32(high02, high13));
  out[3] = ints(vzip2q_s32(high02, high13));
#elif defined(MPLUS_ISA_AVX2)
  const auto rows = [&](int r) {  // r and r + 4
    return _mm256_set_m128i(load_bits<__m128i>(p + offsets[r + 4]), load_bits<__m128i>(p + offsets[r]));
  };
  const __m256i r0 = rows(0), r1 = rows(1), r2 = rows(2), r3 = rows(3);
  const __m256i low01 = _mm256_unpacklo_epi32(r0, r1), high01 = _mm256_unpackhi_epi32(r0, r1);
  const __m256i low23 = _mm256_unpacklo_epi32(r2, r3), high23 = _mm256_unpackhi_epi32(r2, r3);
  out[0] = ints(_mm256_unpacklo_epi64(low01, low23));
  out[1] = ints(_mm256_unpackhi_epi64(low01, low23));
  out[2] = ints(_mm256_unpacklo_epi64(high01, high23));
  out[3] = ints(_mm256_unpackhi_epi64(high01, high23));
#else
  MPLUS_UNROLL for (int k = 0; k < 4; ++k) out[k] = gather(p + 4 * k, offsets);
#endif
}

#if defined(MPLUS_MATRIX_I8)
inline constexpr Order kTileOrder = Order::pairs;  // of weights for the int8 tile

MPLUS_INLINE void gather_pairs(I (&out)[4], const std::byte* p, I offsets) {
  const auto row = [&](int r) { return load_bits<int64x2_t>(p + offsets[r]); };
  const int64x2_t r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  out[0] = reinterpret_cast<I>(vzip1q_s64(r0, r1));
  out[1] = reinterpret_cast<I>(vzip1q_s64(r2, r3));
  out[2] = reinterpret_cast<I>(vzip2q_s64(r0, r1));
  out[3] = reinterpret_cast<I>(vzip2q_s64(r2, r3));
}
#else
inline constexpr Order kTileOrder = Order::lanes;
#endif

// The lower or upper four bits of every byte.
MPLUS_INLINE I nibbles(I bytes_of_two, int upper) {
#if defined(MPLUS_ISA_NEON)
  if (upper != 0) return reinterpret_cast<I>(vshrq_n_u8(vreinterpretq_u8_s32(raw(bytes_of_two)), 4));
#endif
  return (bytes_of_two >> (4 * upper)) & 0x0f0f0f0f;
}

// The blocks of kLanes rows that begin at one place of each: what is at byte `at` of all of them, a half as a
// float, four bytes or sixteen.
struct RowBlocks {  // of rows that lie apart, as in a file
  const std::byte* p;
  I offsets;

  MPLUS_INLINE F halves(int at) const { return half_to_float(half_words(at)); }
  MPLUS_INLINE I half_words(int at) const {
    return at < 2 ? gather(p + at, offsets) & 0xffff
                  : shift_right_logical(gather(p + at - 2, offsets), 16);  // nothing behind the block is read
  }
  MPLUS_INLINE I words(int at) const { return gather(p + at, offsets); }
  MPLUS_INLINE void lanes(I (&out)[4], int at) const { gather_lanes(out, p + at, offsets); }
  template <Order kOrder>
  MPLUS_INLINE void codes(I (&out)[4], int at) const {
#if defined(MPLUS_MATRIX_I8)
    if constexpr (kOrder == Order::pairs) return gather_pairs(out, p + at, offsets);
#endif
    gather_lanes(out, p + at, offsets);
  }
};

#if defined(MPLUS_INTERLEAVED)
// The same of kLanes interleaved rows (interleave.cpp): what is at byte `at` of a row's block is, for all of
// them, at kLanes * at; codes stand in kTileOrder.
struct InterleavedBlocks {
  const std::byte* p;

  MPLUS_INLINE F halves(int at) const { return load_halves(p + kLanes * at); }
  MPLUS_INLINE I words(int at) const { return load_bits<I>(p + kLanes * at); }
  MPLUS_INLINE void lanes(I (&out)[4], int at) const {
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) out[k] = load_bits<I>(p + kLanes * at + kVectorBytes * k);
  }
  template <Order kOrder>
  MPLUS_INLINE void codes(I (&out)[4], int at) const {
    lanes(out, at);
    if constexpr (kOrder == kTileOrder) return;
#if defined(MPLUS_MATRIX_I8)
    MPLUS_UNROLL for (int k = 0; k < 4; k += 2) {
      const int32x4_t rows01 = raw(out[k]), rows23 = raw(out[k + 1]);
      out[k] = ints(vuzp1q_s32(rows01, rows23));
      out[k + 1] = ints(vuzp2q_s32(rows01, rows23));
    }
#endif
  }
};
#endif

// Words of lanes in another order.
template <Order kOrder>
MPLUS_INLINE void arrange([[maybe_unused]] I (&words)[8]) {
#if defined(MPLUS_MATRIX_I8)
  if constexpr (kOrder == Order::lanes) return;
  MPLUS_UNROLL for (int k = 0; k < 8; k += 2) {
    const int32x4_t low = raw(words[k]), high = raw(words[k + 1]);
    words[k] = ints(vzip1q_s32(low, high));
    words[k + 1] = ints(vzip2q_s32(low, high));
  }
#endif
}

}  // namespace mplus::kernels::MPLUS_ISA
