#include "mplus/kernels/adapter.h"

#include "mplus/core/error.h"

namespace mplus::kernels {

void linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows) {
  MPLUS_CHECK(2 * outputs.size() <= kMostProducts, "{} matrices with adapters at once", outputs.size());
  LinearOutput products[kMostProducts];
  std::size_t n = 0;
  for (const AdaptedOutput& output : outputs) {
    products[n++] = {output.out, output.base, {.accumulate = output.accumulate, .rows = rows}};
    if (!output.adapter.a.empty()) products[n++] = {output.adapter.low, &output.adapter.a, {.rows = rows}};
  }
  linear(queue, x, {products, n});
  for (const AdaptedOutput& output : outputs) {
    const LowRank& adapter = output.adapter;
    if (adapter.a.empty()) continue;
    linear(queue, output.out, adapter.low, adapter.b,
           {.accumulate = true, .scale = adapter.scale, .rows = rows});
  }
}

}  // namespace mplus::kernels
