#include <algorithm>

#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

constexpr std::int64_t kItemRows = 16;

// rows.at(r): where the key and the value of row r of rows.count begin.
template <class Rows>
void append(Queue& queue, const KvCache& cache, const KvShape& shape, DType dtype, const RopeTable& angles,
            const Rows& rows) {
  const std::int64_t e = shape.head_size, first = cache.rows, stride = cache.keys.stride(0);
  const DType cached = cache.keys.dtype;
  const auto group_bytes = static_cast<std::int64_t>(row_bytes(dtype, e));
  const auto scratch_size = static_cast<std::size_t>(e) * sizeof(float);
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  const auto put = [&](std::int64_t r, float* x) {
    const auto [k, v] = rows.at(r);
    for (std::int64_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = row_bytes(cached, g * stride + (first + r) * e);
      table().to_f32(x, k + g * group_bytes, dtype, e);
      table().rotate(x, x, angles.cos(first + r), angles.sin(first + r), angles.half());
      table().from_f32(static_cast<std::byte*>(cache.keys.data) + at, cached, x, e);
      table().to_f32(x, v + g * group_bytes, dtype, e);
      table().from_f32(static_cast<std::byte*>(cache.values.data) + at, cached, x, e);
    }
  };
  const std::int64_t items = (rows.count + kItemRows - 1) / kItemRows;
  parallel(queue, items, rows.count * 4 * shape.groups * e, [&](std::int64_t item, int worker) {
    auto* x = reinterpret_cast<float*>(queue.scratch(worker, scratch_size));
    for (std::int64_t r = item * kItemRows; r < std::min(rows.count, (item + 1) * kItemRows); ++r) put(r, x);
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

// The values of small rows: keys, then values, [2, n, kv] in the queue's shared scratch.
Tensor expanded(Queue& queue, const RowGather& rows, std::int64_t kv) {
  const std::int64_t n = std::ssize(rows.places);
  const Tensor values(queue.shared_scratch(row_bytes(DType::f32, 2 * n * kv)), DType::f32, {2, n, kv});
  parallel_ranges(queue, n, 4 * kv, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const RowPlace& place = rows.places[static_cast<std::size_t>(r)];
      const RowBlock& block = rows.blocks[place.block];
      const RowBytes row = row_of(block, place.row);
      expand_small_vector(values.row(0).row(r).on_host<float>(), block.format, row.k, kv);
      expand_small_vector(values.row(1).row(r).on_host<float>(), block.format, row.v, kv);
    }
  });
  return values;
}

struct GatheredRows {
  const RowGather& rows;
  std::int64_t count;
  RowBytes at(std::int64_t r) const {
    const RowPlace& place = rows.places[static_cast<std::size_t>(r)];
    return row_of(rows.blocks[place.block], place.row);
  }
};

struct RowsByNumber {
  const NumberedRows& rows;
  std::int64_t count;
  RowBytes at(std::int64_t r) const { return row_of(rows.block, rows.numbers[static_cast<std::size_t>(r)]); }
};

}  // namespace

void append_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowBlock& rows,
                 const RopeTable& angles) {
  append(queue, cache, shape, rows.k.dtype, angles, BlockRows{rows, rows.k.size(0)});
}

void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowGather& rows,
                 const RopeTable& angles) {
  const RowBlock& first = rows.blocks[rows.places[0].block];
  const DType dtype = first.k.dtype;
  if (first.format != RowFormat::plain) {
    const Tensor values = expanded(queue, rows, shape.groups * shape.head_size);
    const RowBlock plain{values.row(0), values.row(1)};
    return append(queue, cache, shape, DType::f32, angles, BlockRows{plain, std::ssize(rows.places)});
  }
  append(queue, cache, shape, dtype, angles, GatheredRows{rows, std::ssize(rows.places)});
}

void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const NumberedRows& rows,
                 const RopeTable& angles) {
  append(queue, cache, shape, rows.block.k.dtype, angles, RowsByNumber{rows, std::ssize(rows.numbers)});
}

}  // namespace mplus::kernels::cpu
