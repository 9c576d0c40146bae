#include "mplus/kernels/activation.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {
namespace {
constexpr std::int64_t kExpCost = 4;  // of an exponential beside an addition
}

void swiglu(Queue& queue, Tensor out, ConstTensor gate, ConstTensor up) {
  check_floats(queue, {out, gate, up});
  check_same_shape(out, gate);
  check_same_shape(out, up);
  queue.backend().swiglu(queue, out, gate, up);
}

void silu(Queue& queue, Tensor x) {
  check_floats(queue, {x});
  queue.backend().silu(queue, x);
}

void add_row(Queue& queue, Tensor x, ConstTensor row) {
  check_floats(queue, {x, row});
  check_matrix(x, row.elements());
  queue.backend().add_row(queue, x, row);
}

void swiglu(Queue& queue, float* out, const float* gate, const float* up, std::int64_t n) {
  parallel_ranges(queue, n, kExpCost, [&](std::int64_t begin, std::int64_t end) {
    table().swiglu(out + begin, gate + begin, up + begin, end - begin);
  });
}

void silu(Queue& queue, float* x, std::int64_t n) {
  parallel_ranges(queue, n, kExpCost,
                  [&](std::int64_t begin, std::int64_t end) { table().silu(x + begin, end - begin); });
}

void add(Queue& queue, float* x, const float* y, std::int64_t n) {
  parallel_ranges(queue, n, 1, [&](std::int64_t begin, std::int64_t end) {
    table().add(x + begin, y + begin, end - begin);
  });
}

void add_row(Queue& queue, float* x, const float* row, std::int64_t T, std::int64_t d) {
  parallel_ranges(queue, T, d, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) table().add(x + t * d, row, d);
  });
}

}  // namespace mplus::kernels
