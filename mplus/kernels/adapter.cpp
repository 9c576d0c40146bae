#include "mplus/kernels/adapter.h"

#include "mplus/core/error.h"
#include "mplus/kernels/activation.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows) {
  MPLUS_CHECK(2 * outputs.size() <= kMostProducts, "{} matrices with adapters at once", outputs.size());
  queue.backend().linear_adapted(queue, x, outputs, rows);
}

void Backend::linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs,
                             Rows rows) const {
  LinearOutput products[kMostProducts];
  std::size_t n = 0;
  for (const AdaptedOutput& output : outputs) {
    products[n++] = {output.out, output.base, {.accumulate = output.accumulate, .rows = rows}};
    if (!output.adapter.a.empty()) products[n++] = {output.adapter.low, &output.adapter.a, {.rows = rows}};
  }
  kernels::linear(queue, x, {products, n});
  for (const AdaptedOutput& output : outputs) {
    const LowRank& adapter = output.adapter;
    if (adapter.a.empty()) continue;
    kernels::linear(queue, output.out, adapter.low, adapter.b,
                    {.accumulate = true, .scale = adapter.scale, .rows = rows});
  }
}

void swiglu_adapted(Queue& queue, ConstTensor x, const AdaptedOutput& gate, const AdaptedOutput& up,
                    Rows rows, ResultUse use) {
  MPLUS_CHECK(!gate.accumulate && !up.accumulate, "gate and up are made, not added to");
  check_same_shape(gate.out, up.out);
  queue.backend().swiglu_adapted(queue, x, gate, up, rows, use);
}

void Backend::swiglu_adapted(Queue& queue, ConstTensor x, const AdaptedOutput& gate, const AdaptedOutput& up,
                             Rows rows, ResultUse) const {
  const AdaptedOutput both[] = {gate, up};
  kernels::linear_adapted(queue, x, both, rows);
  kernels::swiglu(queue, gate.out, gate.out, up.out);
}

}  // namespace mplus::kernels
