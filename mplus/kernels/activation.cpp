#include "mplus/kernels/activation.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {
namespace {
constexpr std::int64_t kExpCost = 4;  // of an exponential beside an addition
}

void swiglu(Context& context, Tensor out, ConstTensor gate, ConstTensor up) {
  check_floats(context, {out, gate, up});
  check_same_shape(out, gate);
  check_same_shape(out, up);
  context.backend().swiglu(context, out, gate, up);
}

void silu(Context& context, Tensor x) {
  check_floats(context, {x});
  context.backend().silu(context, x);
}

void add_row(Context& context, Tensor x, ConstTensor row) {
  check_floats(context, {x, row});
  check_matrix(x, row.elements());
  context.backend().add_row(context, x, row);
}

void swiglu(Context& context, float* out, const float* gate, const float* up, std::int64_t n) {
  parallel_ranges(context, n, kExpCost, [&](std::int64_t begin, std::int64_t end) {
    table().swiglu(out + begin, gate + begin, up + begin, end - begin);
  });
}

void silu(Context& context, float* x, std::int64_t n) {
  parallel_ranges(context, n, kExpCost,
                  [&](std::int64_t begin, std::int64_t end) { table().silu(x + begin, end - begin); });
}

void add(Context& context, float* x, const float* y, std::int64_t n) {
  parallel_ranges(context, n, 1, [&](std::int64_t begin, std::int64_t end) {
    table().add(x + begin, y + begin, end - begin);
  });
}

void add_row(Context& context, float* x, const float* row, std::int64_t T, std::int64_t d) {
  parallel_ranges(context, T, d, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) table().add(x + t * d, row, d);
  });
}

}  // namespace mplus::kernels
