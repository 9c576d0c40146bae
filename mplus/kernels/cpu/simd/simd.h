// The vectors of the instruction set this file is compiled for, as GNU vector types: F and I hold kLanes
// floats or 32-bit integers and know + - * / & | << >> and comparisons. What the language cannot say is below
// and in simd_<set>.h.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef MPLUS_ISA
#error "the files of kernels/cpu are compiled per instruction set; see kernels/CMakeLists.txt"
#endif
#define MPLUS_INLINE [[gnu::always_inline]] inline
#if defined(__clang__)
#define MPLUS_UNROLL _Pragma("unroll")
#define MPLUS_LOOP _Pragma("nounroll")
#else
#define MPLUS_UNROLL _Pragma("GCC unroll 64")
#define MPLUS_LOOP _Pragma("GCC unroll 1")  // where g++ would unroll and then lack registers
#endif
// For a tile's loop. Of sixteen registers it wants all; inlined, g++ would keep other values in them.
#if defined(MPLUS_ISA_AVX2)
#define MPLUS_TILE [[gnu::noinline]] static
#else
#define MPLUS_TILE MPLUS_INLINE
#endif

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_ISA_AVX512)
inline constexpr int kVectorBytes = 64;
#elif defined(MPLUS_ISA_AVX2)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
inline constexpr int kLanes = kVectorBytes / 4;

typedef float F __attribute__((vector_size(kVectorBytes)));
typedef std::int32_t I __attribute__((vector_size(kVectorBytes)));
typedef std::uint32_t U __attribute__((vector_size(kVectorBytes)));
typedef float F4 __attribute__((vector_size(16)));

template <class V>
MPLUS_INLINE V load_bits(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
MPLUS_INLINE void store_bits(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}
MPLUS_INLINE F load(const float* p) { return load_bits<F>(p); }
MPLUS_INLINE void store(float* p, F v) { store_bits(p, v); }
MPLUS_INLINE F splat(float x) { return x - F{}; }
MPLUS_INLINE I splat(std::int32_t x) { return x - I{}; }
MPLUS_INLINE F as_float(I v) { return reinterpret_cast<F>(v); }
MPLUS_INLINE I as_int(F v) { return reinterpret_cast<I>(v); }
MPLUS_INLINE F to_float(I v) { return __builtin_convertvector(v, F); }
// Keeps a vector of a tile in a register: left alone, g++ reads it from memory again for every product.
template <class V>
MPLUS_INLINE void hold([[maybe_unused]] V& v) {
#if defined(MPLUS_ISA_AVX2)
  asm("" : "+x"(v));
#endif
}
// One tile of vectors from another.
template <class V, int M, int N>
MPLUS_INLINE void copy_tile(V (&to)[M][N], const V (&from)[M][N]) {
  MPLUS_UNROLL for (int m = 0; m < M; ++m) { MPLUS_UNROLL for (int n = 0; n < N; ++n) to[m][n] = from[m][n]; }
}
MPLUS_INLINE I shift_right_logical(I v, int n) { return reinterpret_cast<I>(reinterpret_cast<U>(v) >> n); }

// n < kLanes elements; the other lanes are zero.
MPLUS_INLINE F load_partial(const float* p, std::int64_t n) {
  F v{};
  for (std::int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
MPLUS_INLINE void store_partial(float* p, F v, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) p[i] = v[i];
}
struct Half {  // an element of a cache
  std::uint16_t bits;
};

// How far ahead of their use weights are asked for: streams from memory are what decoding waits for, and
// processors give up on them at page borders.
inline constexpr std::int64_t kPrefetchBytes = 4096;
MPLUS_INLINE void prefetch(const void* p) {
  __builtin_prefetch(static_cast<const std::byte*>(p) + kPrefetchBytes);
}
// The same for n elements of keys and values. A Neoverse V1 follows them better alone: asked, it takes half
// as long again.
template <class Element>
MPLUS_INLINE void prefetch_rows([[maybe_unused]] const Element* p, [[maybe_unused]] std::int64_t n) {
#if !defined(MPLUS_ISA_NEON)
  constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(Element));
  for (std::int64_t i = 0; i < n; i += kLine) prefetch(p + i);
#endif
}

template <class T>
MPLUS_INLINE constexpr T min_of(T a, T b) {
  return a < b ? a : b;
}
template <class T>
MPLUS_INLINE T max_of(T a, T b) {
  return a > b ? a : b;
}

}  // namespace mplus::kernels::MPLUS_ISA

#include "mplus/kernels/cpu/simd/half.h"
#if defined(MPLUS_ISA_AVX512)
#include "mplus/kernels/cpu/simd/simd_avx512.h"
#elif defined(MPLUS_ISA_AVX2)
#include "mplus/kernels/cpu/simd/simd_avx2.h"
#elif defined(MPLUS_ISA_NEON)
#include "mplus/kernels/cpu/simd/simd_neon.h"
#else
#include "mplus/kernels/cpu/simd/simd_portable.h"
#endif

#if defined(MPLUS_HALF_CACHES)
namespace mplus::kernels::MPLUS_ISA {

MPLUS_INLINE F load(const Half* p) { return load_halves(p); }
MPLUS_INLINE F load_partial(const Half* p, std::int64_t n) {
  Half whole[kLanes] = {};
  for (std::int64_t i = 0; i < n; ++i) whole[i] = p[i];
  return load(whole);
}

}  // namespace mplus::kernels::MPLUS_ISA
#endif
