// The attention cache of one layer of one session, and how stored rows get into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/dtype.h"
#include "mplus/core/tensor.h"
#include "mplus/kernels/queue.h"
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

// The rows from `first` on, as a cache of their own.
inline KvCache behind(const KvCache& cache, std::int64_t first, const KvShape& shape) {
  return {.keys = cache.keys + first * shape.head_size,
          .values = cache.values + first * shape.head_size,
          .rows = cache.rows - first,
          .capacity = cache.capacity};
}

// Copies n stored rows (k and v before RoPE, [n, G*e], f32 or bf16, which may stand apart) behind the filled
// ones, turns the keys at positions cache.rows, cache.rows + 1, … and advances cache.rows. The table must
// hold those positions.
void append_rows(Queue& queue, KvCache& cache, const KvShape& shape, ConstTensor k, ConstTensor v,
                 const RopeTable& angles);

// The same for rows out of several blocks, by their index: place p is row places[p].row of
// blocks[places[p].block]. All blocks are of one type.
struct RowBlock {
  ConstTensor k, v;  // [n, G*e]
};
struct RowPlace {
  std::size_t block = 0;
  std::int64_t row = 0;
};
struct RowGather {
  std::span<const RowBlock> blocks;
  std::span<const RowPlace> places;
};
void gather_rows(Queue& queue, KvCache& cache, const KvShape& shape, const RowGather& rows,
                 const RopeTable& angles);

}  // namespace mplus::kernels
