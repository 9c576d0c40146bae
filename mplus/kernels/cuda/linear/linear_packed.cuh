// Weights of one byte as operands (linear_packed.cu, linear_stream.cu).
#pragma once

#include <cstdint>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace products {

// What a byte stands for, before its row's scale: four of them as two operands, and as they are in f32, all
// exact in f16.
struct Whole {  // -128 … 127
  // A byte b with its sign turned, behind the exponent of 1024, is 1152 + b.
  __device__ static void unpack(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
    constexpr std::uint32_t kSigns = 0x80808080u, kExponents = 0x64646464u;
    const __half2 zero = __float2half2_rn(1152.0f);
    const std::uint32_t turned = bytes ^ kSigns, first = __byte_perm(turned, kExponents, 0x4140),
                        second = __byte_perm(turned, kExponents, 0x4342);
    const __half2 a = __hsub2(*reinterpret_cast<const __half2*>(&first), zero),
                  b = __hsub2(*reinterpret_cast<const __half2*>(&second), zero);
    low = *reinterpret_cast<const std::uint32_t*>(&a);
    high = *reinterpret_cast<const std::uint32_t*>(&b);
  }
  // The same behind the exponent of 2^23.
  __device__ static void values(std::uint32_t bytes, float (&x)[4]) {
    constexpr std::uint32_t kSigns = 0x80808080u, kExponent = 0x4b000000u;
    const std::uint32_t turned = bytes ^ kSigns;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[i] = __uint_as_float(__byte_perm(turned, kExponent, 0x7650 + i)) - (0x1p23f + 128.0f);
  }
};
struct Small {  // e4m3
#if __CUDA_ARCH__ >= 890
  __device__ static std::uint32_t pair(std::uint16_t bytes) {
    std::uint32_t both;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;\n" : "=r"(both) : "h"(bytes));
    return both;
  }
  __device__ static void unpack(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
    low = pair(static_cast<std::uint16_t>(bytes));
    high = pair(static_cast<std::uint16_t>(bytes >> 16));
  }
#else
  // Exponent and mantissa where f16 has them stand for 2^-8 of the value.
  __device__ static std::uint32_t pair(std::uint32_t bytes) {  // of the upper halves
    const std::uint32_t moved = (bytes & 0x80008000u) | ((bytes & 0x7f007f00u) >> 1);
    const __half2 both = __hmul2(*reinterpret_cast<const __half2*>(&moved), __float2half2_rn(256.0f));
    return *reinterpret_cast<const std::uint32_t*>(&both);
  }
  __device__ static void unpack(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
    low = pair(__byte_perm(bytes, 0, 0x1404));
    high = pair(__byte_perm(bytes, 0, 0x3424));
  }
#endif
  __device__ static void values(std::uint32_t bytes, float (&x)[4]) {
    std::uint32_t two[2];
    unpack(bytes, two[0], two[1]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float2 both = __half22float2(*reinterpret_cast<const __half2*>(&two[i]));
      x[2 * i] = both.x;
      x[2 * i + 1] = both.y;
    }
  }
};

// f(Code()) for weights of a type of one byte; the type of those among products.
template <class F>
void with_code(DType dtype, const F& f) {
  if (dtype == DType::u8) f(Small());
  else f(Whole());
}
inline DType code_of(const Products& products) {
  for (int i = 0; i < products.count; ++i)
    if (is_byte(products.list[i].dtype)) return products.list[i].dtype;
  return DType::i8;
}

__device__ inline std::uint32_t word(const uint4& x, int i) {
  return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

// A tile's 16 rows, a lane's part of two of them, against columns of x of f16: 64 inputs.
template <class Code, int kN>
__device__ void multiply_bytes(float (&sums)[kN][4], const uint4& low, const uint4& high,
                               const uint4 (&x)[2 * kN]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    std::uint32_t a[4];
    Code::unpack(word(low, j), a[0], a[2]);
    Code::unpack(word(high, j), a[1], a[3]);
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      const uint4& of = x[2 * n + j / 2];
      mma<f16>(sums[n], a, word(of, 2 * (j % 2)), word(of, 2 * (j % 2) + 1));
    }
  }
}

}  // namespace products
}  // namespace mplus::kernels::cuda
