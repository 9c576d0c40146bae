#include "mplus/kernels/attention/attention.h"

#include <limits>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {
namespace {

void check_item(const Queue& queue, const AttendItem& item, const KvShape& shape) {
  const KvCache& cache = item.cache;
  const std::int64_t T = item.q.size(0);
  check_floats(queue, {item.out, item.q});
  check_matrix(item.q, shape.heads * shape.head_size);
  MPLUS_CHECK(shape.groups > 0 && shape.heads % shape.groups == 0 && shape.head_size > 0,
              "{} heads in {} groups of size {}", shape.heads, shape.groups, shape.head_size);
  MPLUS_CHECK(cache.rows >= T && cache.rows <= cache.capacity() &&
                  cache.rows < std::numeric_limits<std::int32_t>::max(),
              "{} queries, {} rows, capacity {}", T, cache.rows, cache.capacity());
  for (const Tensor* x : {&cache.keys, &cache.values})
    MPLUS_CHECK(x->device == queue.device() && x->dtype == queue.backend().cache_type(queue.numerics()) &&
                    x->size(0) == shape.groups && x->size(2) == shape.head_size,
                "a cache of {} on {}", dtype_name(x->dtype), device_name(x->device));
}

}  // namespace

void attend(Queue& queue, std::span<const AttendItem> items, const KvShape& shape) {
  for (const AttendItem& item : items) {
    check_item(queue, item, shape);
    check_same_shape(item.out, item.q);
  }
  queue.backend().attend(queue, items, shape);
}

void attend(Queue& queue, Tensor out, ConstTensor q, const KvCache& cache, const KvShape& shape) {
  const AttendItem item{out, q, cache};
  attend(queue, {&item, 1}, shape);
}

void attention_weights(Queue& queue, Tensor out, ConstTensor q, const KvCache& cache, const KvShape& shape) {
  const AttendItem item{out, q, cache};
  check_item(queue, item, shape);
  MPLUS_CHECK(out.dimensions == 3 && out.size(0) == shape.heads && out.size(1) == q.size(0) &&
                  out.size(2) == cache.rows,
              "weights [{}, {}, {}]", out.size(0), out.size(1), out.size(2));
  queue.backend().attention_weights(queue, item, shape);
}

}  // namespace mplus::kernels
