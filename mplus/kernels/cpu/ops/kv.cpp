#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

// rows.at(r): where the key and the value of row r of rows.count begin.
template <class Rows>
void append(Queue& queue, const KvCache& cache, const KvShape& shape, DType dtype, const RopeTable& angles,
            const Rows& rows) {
  const std::int64_t e = shape.head_size, first = cache.rows, stride = cache.keys.stride(0);
  auto *keys = cache.keys.on_host<float>(), *values = cache.values.on_host<float>();
  const auto group_bytes = static_cast<std::int64_t>(row_bytes(dtype, e));
  parallel_ranges(queue, rows.count, 4 * shape.groups * e, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto [k, v] = rows.at(r);
      for (std::int64_t g = 0; g < shape.groups; ++g) {
        const std::int64_t at = g * stride + (first + r) * e;
        table().to_f32(keys + at, k + g * group_bytes, dtype, e);
        table().rotate(keys + at, keys + at, angles.cos(first + r), angles.sin(first + r), angles.half());
        table().to_f32(values + at, v + g * group_bytes, dtype, e);
      }
    }
  });
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

}  // namespace

void append_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowBlock& rows,
                 const RopeTable& angles) {
  append(queue, cache, shape, rows.k.dtype, angles, BlockRows{rows, rows.k.size(0)});
}

void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowGather& rows,
                 const RopeTable& angles) {
  const DType dtype = rows.blocks[rows.places[0].block].k.dtype;
  append(queue, cache, shape, dtype, angles, GatheredRows{rows, std::ssize(rows.places)});
}

}  // namespace mplus::kernels::cpu
