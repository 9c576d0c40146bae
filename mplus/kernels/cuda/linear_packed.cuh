// Weights of one byte as operands (linear_packed.cu, linear_stream.cu).
#pragma once

#include <cstdint>

#include "mplus/kernels/cuda/device.cuh"

namespace mplus::kernels::cuda {
namespace products {

// Four weights as two operands. A byte b with its sign turned, behind the exponent of 1024, is 1152 + b.
__device__ inline void unpack(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
  constexpr std::uint32_t kSigns = 0x80808080u, kExponents = 0x64646464u;
  const __half2 zero = __float2half2_rn(1152.0f);
  const std::uint32_t turned = bytes ^ kSigns, first = __byte_perm(turned, kExponents, 0x4140),
                      second = __byte_perm(turned, kExponents, 0x4342);
  const __half2 a = __hsub2(*reinterpret_cast<const __half2*>(&first), zero),
                b = __hsub2(*reinterpret_cast<const __half2*>(&second), zero);
  low = *reinterpret_cast<const std::uint32_t*>(&a);
  high = *reinterpret_cast<const std::uint32_t*>(&b);
}

__device__ inline std::uint32_t word(const uint4& x, int i) {
  return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

// A tile's 16 rows, a lane's part of two of them, against columns of x of f16: 64 inputs.
template <int kN>
__device__ void multiply_bytes(float (&sums)[kN][4], const uint4& low, const uint4& high,
                               const uint4 (&x)[2 * kN]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    std::uint32_t a[4];
    unpack(word(low, j), a[0], a[2]);
    unpack(word(high, j), a[1], a[3]);
#pragma unroll
    for (int n = 0; n < kN; ++n) {
      const uint4& of = x[2 * n + j / 2];
      mma<f16>(sums[n], a, word(of, 2 * (j % 2)), word(of, 2 * (j % 2) + 1));
    }
  }
}

}  // namespace products
}  // namespace mplus::kernels::cuda
