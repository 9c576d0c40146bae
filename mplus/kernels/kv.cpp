#include "mplus/kernels/kv.h"

#include "mplus/core/error.h"
#include "mplus/kernels/check.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {
namespace {

// rows.at(r): where the key and the value of row r of rows.count begin.
template <class Rows>
void append(Queue& queue, KvCache& cache, const KvShape& shape, DType dtype, const RopeTable& angles,
            const Rows& rows) {
  const std::int64_t e = shape.head_size, n = rows.count, first_position = cache.rows;
  MPLUS_CHECK(dtype == DType::f32 || dtype == DType::bf16, "rows of type {}", dtype_name(dtype));
  MPLUS_CHECK(cache.rows + n <= cache.capacity, "{} + {} rows in a cache of {}", cache.rows, n,
              cache.capacity);
  MPLUS_CHECK(e == 2 * angles.half() && first_position >= 0 && first_position + n <= angles.positions(),
              "head of {}, positions {} … {}; table of {} × {}", e, first_position, first_position + n,
              angles.positions(), angles.half());
  const auto group_bytes = static_cast<std::int64_t>(row_bytes(dtype, e));
  parallel_ranges(queue, n, 4 * shape.groups * e, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto [k, v] = rows.at(r);
      for (std::int64_t g = 0; g < shape.groups; ++g) {
        const std::int64_t at = (g * cache.capacity + cache.rows + r) * e;
        table().to_f32(cache.keys + at, k + g * group_bytes, dtype, e);
        table().rotate(cache.keys + at, cache.keys + at, angles.cos(first_position + r),
                       angles.sin(first_position + r), angles.half());
        table().to_f32(cache.values + at, v + g * group_bytes, dtype, e);
      }
    }
  });
  cache.rows += n;
}

struct RowBytes {
  const std::byte *k, *v;
};

RowBytes row_of(const RowBlock& block, std::int64_t row) {
  const auto offset = [row](const ConstTensor& x) {
    return row_bytes(x.dtype, x.stride(0)) * static_cast<std::size_t>(row);
  };
  return {static_cast<const std::byte*>(block.k.data) + offset(block.k),
          static_cast<const std::byte*>(block.v.data) + offset(block.v)};
}

struct BlockRows {
  const RowBlock& block;
  std::int64_t count;
  RowBytes at(std::int64_t r) const { return row_of(block, r); }
};

struct GatheredRows {
  const RowGather& rows;
  std::int64_t count;
  RowBytes at(std::int64_t r) const {
    const RowPlace& place = rows.places[static_cast<std::size_t>(r)];
    return row_of(rows.blocks[place.block], place.row);
  }
};

void check_block(const Queue& queue, const RowBlock& block, const KvShape& shape, DType dtype) {
  check_same_shape(block.k, block.v);
  check_matrix(block.k, shape.groups * shape.head_size);
  for (const ConstTensor* x : {&block.k, &block.v})
    MPLUS_CHECK(x->device == queue.device() && x->dtype == dtype, "rows of {} on {}", dtype_name(x->dtype),
                device_name(x->device));
}

}  // namespace

void append_rows(Queue& queue, KvCache& cache, const KvShape& shape, ConstTensor k, ConstTensor v,
                 const RopeTable& angles) {
  const RowBlock block{k, v};
  check_block(queue, block, shape, k.dtype);
  append(queue, cache, shape, k.dtype, angles, BlockRows{block, k.size(0)});
}

void gather_rows(Queue& queue, KvCache& cache, const KvShape& shape, const RowGather& rows,
                 const RopeTable& angles) {
  if (rows.places.empty()) return;
  const DType dtype = rows.blocks[rows.places[0].block].k.dtype;
  for (const RowPlace& place : rows.places) {
    const RowBlock& block = rows.blocks[place.block];
    check_block(queue, block, shape, dtype);
    MPLUS_CHECK(place.row >= 0 && place.row < block.k.size(0), "row {} of {}", place.row, block.k.size(0));
  }
  append(queue, cache, shape, dtype, angles, GatheredRows{rows, std::ssize(rows.places)});
}

}  // namespace mplus::kernels
