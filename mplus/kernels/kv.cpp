#include "mplus/kernels/kv.h"

#include "mplus/core/error.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {

void append_rows(Context& context, KvCache& cache, const KvShape& shape, DType dtype,
                 const void* const* k_rows, const void* const* v_rows, std::int64_t n,
                 const RopeTable& angles, std::int64_t first_position) {
  const std::int64_t e = shape.head_size;
  MPLUS_CHECK(dtype == DType::f32 || dtype == DType::bf16, "rows of type {}", dtype_name(dtype));
  MPLUS_CHECK(cache.rows + n <= cache.capacity, "{} + {} rows in a cache of {}", cache.rows, n,
              cache.capacity);
  MPLUS_CHECK(e == 2 * angles.half() && first_position >= 0 && first_position + n <= angles.positions(),
              "head of {}, positions {} … {}; table of {} × {}", e, first_position, first_position + n,
              angles.positions(), angles.half());
  const auto group_bytes = static_cast<std::int64_t>(row_bytes(dtype, e));
  parallel_ranges(context, n, 4 * shape.groups * e, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t g = 0; g < shape.groups; ++g) {
        const std::int64_t at = (g * cache.capacity + cache.rows + r) * e;
        const auto* k = static_cast<const std::byte*>(k_rows[r]) + g * group_bytes;
        const auto* v = static_cast<const std::byte*>(v_rows[r]) + g * group_bytes;
        table().to_f32(cache.keys + at, k, dtype, e);
        table().rotate(cache.keys + at, cache.keys + at, angles.cos(first_position + r),
                       angles.sin(first_position + r), angles.half());
        table().to_f32(cache.values + at, v, dtype, e);
      }
    }
  });
  cache.rows += n;
}

}  // namespace mplus::kernels
