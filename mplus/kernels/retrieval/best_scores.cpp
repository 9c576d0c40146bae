#include "mplus/kernels/retrieval/best_scores.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void best_scores(Queue& queue, const BestScores& out, ConstTensor scores, std::int64_t wanted) {
  check_floats(queue, {scores, out.values});
  MPLUS_CHECK(out.places.dtype == DType::i32 && out.places.device == queue.device() &&
                  out.places.contiguous() && out.places.elements() == out.values.elements(),
              "{} places of {} values", out.places.elements(), out.values.elements());
  MPLUS_CHECK(
      out.count.dtype == DType::i64 && out.count.device == queue.device() && out.count.elements() == 1,
      "{} counts of {}", out.count.elements(), dtype_name(out.count.dtype));
  MPLUS_CHECK(wanted > 0 && scores.elements() <= INT32_MAX, "{} of {} scores", wanted, scores.elements());
  queue.backend().best_scores(queue, out, scores, wanted);
}

}  // namespace mplus::kernels
