// What the kernels that score retriever keys share: how keys are read, and queries made ready.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {

// Queries [layers, whole tiles, width] as operands, then a scale for each.
struct PackedQueries {
  bf16* q;
  float* scales;
  std::int64_t rows;  // of a layer
};

// retrieval_warpgroup.cu: many queries, keys of 64, 128 or 256; false where the driver cannot.
struct WideRetrieval {
  CUtensorMap queries;
  const KeyPart* parts;
  const float* scales;
  std::int64_t rows;  // of a layer's queries
  int T;
};
bool score_wide(Stream stream, const Retrieval& job, const PackedQueries& packed);

// Eight elements of a key as operands.
template <class Key>
__device__ inline uint4 load_key(const void* keys, std::int64_t key, int width, int at) {
  if constexpr (sizeof(Key) == 2) {
    return load_once(static_cast<const bf16*>(keys) + key * width + at);
  } else {
    const auto* codes = static_cast<const std::int8_t*>(keys) + key * (width + 2) + at;
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const char2 two = *reinterpret_cast<const char2*>(codes + 2 * i);
      words[i] = pack<bf16>(static_cast<float>(two.x), static_cast<float>(two.y));
    }
    return {words[0], words[1], words[2], words[3]};
  }
}

template <class Key>
__device__ inline float key_scale(const void* keys, std::int64_t key, std::int64_t width) {
  if constexpr (sizeof(Key) == 2) return 1.0f;
  else
    return to_float(
        *reinterpret_cast<const bf16*>(static_cast<const std::int8_t*>(keys) + key * (width + 2) + width));
}

}  // namespace mplus::kernels::cuda
