// The attention cache of one layer of one session, and how stored rows get into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/numbers/dtype.h"
#include "mplus/core/numbers/row_format.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/queue.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::kernels {

// A view: keys (already rotated) and values, of the type Backend::cache_type names; the first `rows` of every
// group are filled. Groups may stand apart (stride(0)); inside one, rows do not.
struct KvCache {
  Tensor keys;    // [G, capacity, e]
  Tensor values;  // [G, capacity, e]
  std::int64_t rows = 0;
  std::int64_t capacity() const { return keys.size(1); }
};

struct KvShape {
  std::int64_t heads = 0;      // H query heads, a multiple of G
  std::int64_t groups = 0;     // G key/value heads
  std::int64_t head_size = 0;  // e
};

// The rows from `first` on, as a cache of their own.
inline KvCache behind(const KvCache& cache, std::int64_t first) {
  const std::int64_t count = cache.capacity() - first;
  return {cache.keys.part(1, first, count), cache.values.part(1, first, count), cache.rows - first};
}

// Stored rows before RoPE, [n, G·e] each, f32 or bf16; rows may stand apart. Small ones
// (core/numbers/row_format.h) are i8, [n, small_vector_bytes].
struct RowBlock {
  ConstTensor k, v;
  RowFormat format = RowFormat::plain;
};

// Copies n stored rows behind the filled ones, rotates the keys at positions cache.rows, cache.rows + 1, …
// and advances cache.rows. The table must hold those positions. Rows lie on the queue's device or in host
// memory.
void append_rows(Queue& queue, KvCache& cache, const KvShape& shape, const RowBlock& rows,
                 const RopeTable& angles);

// The same for rows out of several blocks, by their index. All blocks named are of one type and format; each
// lies on the queue's device or in host memory, where places lie, too.
struct RowGather {
  std::span<const RowBlock> blocks;
  std::span<const RowPlace> places;
};
void gather_rows(Queue& queue, KvCache& cache, const KvShape& shape, const RowGather& rows,
                 const RopeTable& angles);

// The same for rows of one plain block, by their numbers, which lie in host memory.
struct NumberedRows {
  RowBlock block;
  std::span<const std::int32_t> numbers;
};
void gather_rows(Queue& queue, KvCache& cache, const KvShape& shape, const NumberedRows& rows,
                 const RopeTable& angles);

}  // namespace mplus::kernels
