// The attention cache of one layer of one session, and how stored rows get into it.
#pragma once

#include <cstdint>

#include "mplus/core/dtype.h"
#include "mplus/kernels/context.h"
#include "mplus/kernels/rope.h"

namespace mplus::kernels {

// A view: keys (already rotated) and values are [G, capacity, e] each; the first `rows` of every group are
// filled.
struct KvCache {
  float* keys = nullptr;
  float* values = nullptr;
  std::int64_t rows = 0;
  std::int64_t capacity = 0;
};

struct KvShape {
  std::int64_t heads = 0;      // H query heads, a multiple of G
  std::int64_t groups = 0;     // G key/value heads
  std::int64_t head_size = 0;  // e
};

// Copies n stored rows (k and v before RoPE, each [G*e], f32 or bf16) behind the filled ones, turns the keys
// at first_position, first_position + 1, … and advances cache.rows. The table must hold those positions.
void append_rows(Context& context, KvCache& cache, const KvShape& shape, DType dtype,
                 const void* const* k_rows, const void* const* v_rows, std::int64_t n,
                 const RopeTable& angles, std::int64_t first_position);

}  // namespace mplus::kernels
