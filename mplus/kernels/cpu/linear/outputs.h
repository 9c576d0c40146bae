// What a product leaves: kLanes neighbouring outputs of one row of x.
#pragma once

#include "mplus/kernels/cpu/simd/simd.h"
#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::MPLUS_ISA {

// To the first `valid` of them.
MPLUS_INLINE void put_values(const LinearJob& job, float* out, F value, std::int64_t valid) {
  if (valid >= kLanes) {
    store(out, job.accumulate ? load(out) + value : value);
  } else if (valid > 0) {
    store_partial(out, job.accumulate ? load_partial(out, valid) + value : value, valid);
  }
}

// The same of a sum before the job's scale.
MPLUS_INLINE void put_outputs(const LinearJob& job, float* out, F sum, std::int64_t valid) {
  put_values(job, out, sum * job.scale, valid);
}

}  // namespace mplus::kernels::MPLUS_ISA
