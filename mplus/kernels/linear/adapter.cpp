#include "mplus/kernels/linear/adapter.h"

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"
#include "mplus/kernels/linear/activation.h"

namespace mplus::kernels {

void linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows) {
  MPLUS_CHECK(2 * outputs.size() <= kMostProducts, "{} matrices with adapters at once", outputs.size());
  queue.backend().linear_adapted(queue, x, outputs, rows);
}

namespace {

// The products of x for outputs with as many rows, without the outer halves.
void make_products(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows) {
  LinearOutput products[kMostProducts];
  std::size_t n = 0;
  for (const AdaptedOutput& output : outputs) {
    const LowRank& adapter = output.adapter;
    products[n++] = {output.out, output.base, {.accumulate = output.accumulate, .rows = rows}};
    if (!adapter.a.empty()) products[n++] = {adapter.low.rows(0, x.size(0)), &adapter.a, {.rows = rows}};
  }
  kernels::linear(queue, x, {products, n});
}

}  // namespace

// All products of x come first: what made it may have left it for them alone (norm.h).
void Backend::linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs,
                             Rows rows) const {
  for (std::size_t first = 0, next = 0; first < outputs.size(); first = next) {
    const std::int64_t n = outputs[first].out.size(0);
    while (next < outputs.size() && outputs[next].out.size(0) == n) ++next;
    make_products(queue, x.rows(0, n), outputs.subspan(first, next - first), rows);
  }
  for (const AdaptedOutput& output : outputs) {
    const LowRank& adapter = output.adapter;
    if (adapter.a.empty()) continue;
    kernels::linear(queue, output.out, adapter.low.rows(0, output.out.size(0)), adapter.b,
                    {.accumulate = true, .scale = adapter.scale, .rows = rows});
  }
}

void linear_adapted(Queue& queue, std::span<const AdaptedProducts> all, Rows rows) {
  for (const auto& [x, outputs] : all) {
    check_same_shape(x, all.front().x);
    MPLUS_CHECK(2 * outputs.size() <= kMostProducts, "{} matrices with adapters at once", outputs.size());
  }
  queue.backend().linear_adapted_all(queue, all, rows);
}

void Backend::linear_adapted_all(Queue& queue, std::span<const AdaptedProducts> all, Rows rows) const {
  for (const auto& [x, outputs] : all) linear_adapted(queue, x, outputs, rows);
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
