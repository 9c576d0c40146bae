#include "mplus/kernels/retrieval.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {

void retrieval_scores(Context& context, float* scores, const float* q, std::int64_t T, const void* keys,
                      DType dtype, std::int64_t n, std::int64_t d_r) {
  if (n <= 0) return;
  MPLUS_CHECK(T > 0, "{} queries", T);
  MPLUS_CHECK(dtype == DType::f32 || dtype == DType::bf16, "keys of type {}", dtype_name(dtype));
  constexpr std::int64_t kItemKeys = 512;
  const Table& isa = table();
  auto* packed = reinterpret_cast<float*>(context.shared_scratch(isa.packed_queries_size(T, d_r)));
  isa.pack_queries(packed, q, T, d_r);
  const std::size_t scratch_size = isa.score_scratch(d_r);
  for (int worker = 0; worker < context.pool().size(); ++worker) context.scratch(worker, scratch_size);
  const auto* bytes = static_cast<const std::byte*>(keys);
  const std::int64_t work = n * T * (d_r / 8 + 2);
  parallel(context, (n + kItemKeys - 1) / kItemKeys, work, [&](std::int64_t item, int worker) {
    isa.score_keys(scores, packed, T, bytes, dtype, item * kItemKeys, std::min(n, (item + 1) * kItemKeys),
                   d_r, context.scratch(worker, scratch_size));
  });
}

}  // namespace mplus::kernels
