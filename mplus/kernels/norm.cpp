#include "mplus/kernels/norm.h"

#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {

void rms_norm(Context& context, float* out, const float* x, const float* weight, std::int64_t T,
              std::int64_t d, float epsilon) {
  parallel_ranges(context, T, d, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) table().rms_norm_row(out + t * d, x + t * d, weight, d, epsilon);
  });
}

}  // namespace mplus::kernels
