#include "mplus/kernels/linear/linear.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void linear(Queue& queue, Tensor out, ConstTensor x, const Matrix& w, const LinearOptions& options) {
  const LinearOutput output{out, &w, options};
  linear(queue, x, {&output, 1});
}

void linear(Queue& queue, ConstTensor x, std::span<const LinearOutput> outputs) {
  check_floats(queue, {x});
  MPLUS_CHECK(outputs.size() <= kMostProducts, "{} products at once", outputs.size());
  for (const auto& [out, w, options] : outputs) {
    check_matrix(x, w->cols);
    check_matrix(out, w->rows);
    check_device(queue, *w);
    MPLUS_CHECK(out.device == queue.device() && out.dtype == DType::f32 && out.size(0) == x.size(0),
                "linear: {} rows into {}", x.size(0), out.size(0));
    MPLUS_CHECK(options.rows == outputs.front().options.rows, "products of different kinds");
  }
  queue.backend().linear(queue, x, outputs);
}

}  // namespace mplus::kernels
