#include "mplus/kernels/attention/kv.h"

#include <algorithm>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {
namespace {

void check_cache(const Queue& queue, const KvCache& cache, const KvShape& shape, const RopeTable& angles,
                 std::int64_t n) {
  const std::int64_t e = shape.head_size;
  for (const Tensor* x : {&cache.keys, &cache.values})
    MPLUS_CHECK(x->device == queue.device() && x->dtype == queue.backend().cache_type(queue.numerics()) &&
                    x->dimensions == 3 && x->size(0) == shape.groups && x->size(2) == e && x->stride(1) == e,
                "a cache of {} on {}, [{}, {}, {}]", dtype_name(x->dtype), device_name(x->device), x->size(0),
                x->size(1), x->size(2));
  MPLUS_CHECK(cache.rows >= 0 && cache.rows + n <= cache.capacity(), "{} + {} rows in a cache of {}",
              cache.rows, n, cache.capacity());
  MPLUS_CHECK(e == 2 * angles.half() && cache.rows + n <= angles.positions(),
              "head of {}, positions {} … {}; table of {} × {}", e, cache.rows, cache.rows + n,
              angles.positions(), angles.half());
}

void check_block(const Queue& queue, const RowBlock& block, const KvShape& shape, const RowBlock& like) {
  const std::int64_t kv = shape.groups * shape.head_size;
  const bool plain = block.format == RowFormat::plain;
  check_same_shape(block.k, block.v);
  check_matrix(block.k, plain ? kv : static_cast<std::int64_t>(small_vector_bytes(block.format, kv)));
  for (const ConstTensor* x : {&block.k, &block.v})
    MPLUS_CHECK((plain ? x->dtype == DType::f32 || x->dtype == DType::bf16 : x->dtype == DType::i8) &&
                    x->dtype == like.k.dtype && block.format == like.format &&
                    (x->device.is_cpu() || x->device == queue.device()),
                "{} rows of {} on {}", row_format_name(block.format), dtype_name(x->dtype),
                device_name(x->device));
}

}  // namespace

void append_rows(Queue& queue, KvCache& cache, const KvShape& shape, const RowBlock& rows,
                 const RopeTable& angles) {
  const std::int64_t n = rows.k.size(0);
  check_block(queue, rows, shape, rows);
  MPLUS_CHECK(rows.format == RowFormat::plain, "{} rows in one block", row_format_name(rows.format));
  check_cache(queue, cache, shape, angles, n);
  if (n > 0) queue.backend().append_rows(queue, cache, shape, rows, angles);
  cache.rows += n;
}

void gather_rows(Queue& queue, KvCache& cache, const KvShape& shape, const RowGather& rows,
                 const RopeTable& angles) {
  if (rows.places.empty()) return;
  const RowBlock& first = rows.blocks[rows.places[0].block];
  for (const RowBlock& block : rows.blocks)
    if (!block.k.empty()) check_block(queue, block, shape, first);
  for (const RowPlace& place : rows.places) {
    const ConstTensor& k = rows.blocks[place.block].k;
    MPLUS_CHECK(!k.empty() && place.row >= 0 && place.row < k.size(0), "row {} of {}", place.row,
                k.empty() ? 0 : k.size(0));
  }
  const auto n = std::ssize(rows.places);
  check_cache(queue, cache, shape, angles, n);
  queue.backend().gather_rows(queue, cache, shape, rows, angles);
  cache.rows += n;
}

void gather_rows(Queue& queue, KvCache& cache, const KvShape& shape, const NumberedRows& rows,
                 const RopeTable& angles) {
  if (rows.numbers.empty()) return;
  check_block(queue, rows.block, shape, rows.block);
  MPLUS_CHECK(rows.block.format == RowFormat::plain, "{} rows by their numbers",
              row_format_name(rows.block.format));
  const auto [least, most] = std::minmax_element(rows.numbers.begin(), rows.numbers.end());
  MPLUS_CHECK(*least >= 0 && *most < rows.block.k.size(0), "rows {} to {} of {}", *least, *most,
              rows.block.k.size(0));
  const auto n = std::ssize(rows.numbers);
  check_cache(queue, cache, shape, angles, n);
  queue.backend().gather_rows(queue, cache, shape, rows, angles);
  cache.rows += n;
}

}  // namespace mplus::kernels
