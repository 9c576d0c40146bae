// Which kernel makes a product. Exact numerics: f32. Fast: by the weights' type and shape, and, where bits
// must not depend on neighbours, by nothing else.
#include "mplus/kernels/linear.h"

#include "mplus/core/error.h"
#include "mplus/kernels/cuda/backend.h"
#include "mplus/kernels/cuda/check.h"

namespace mplus::kernels::cuda {
namespace {

constexpr std::int64_t kFewRows = 16;        // up to here weights are what has to be moved
constexpr std::int64_t kNarrowOutputs = 64;  // up to here a tile of the library's would leave the device idle

void add(Products& products, const Product& product) { products.list[products.count++] = product; }

// The products of x, by what makes them.
struct Sorted {
  Products plain, tensor;
  Products library;
};

Sorted sort(const Products& all, bool few) {
  Sorted sorted{all, all, all};
  sorted.plain.count = sorted.tensor.count = sorted.library.count = 0;
  for (int i = 0; i < all.count; ++i) {
    const Product& product = all.list[i];
    Products alone = all;
    alone.list[0] = product;
    alone.count = 1;
    const bool same = sorted.tensor.count == 0 || sorted.tensor.list[0].dtype == product.dtype;
    const bool small = few || product.outputs <= kNarrowOutputs;
    if (small && same && fits_linear_tensor(alone)) add(sorted.tensor, product);
    else if (!few && Matmul::fits(product, all.inputs)) add(sorted.library, product);
    else add(sorted.plain, product);
  }
  return sorted;
}

void multiply(CudaQueueState& state, const Products& products, bool any_neighbours) {
  if (products.count == 0) return;
  for (const DType type : {DType::bf16, DType::f16}) {
    void* x = nullptr;
    for (int i = 0; i < products.count; ++i) {
      if (products.list[i].dtype != type) continue;
      if (!x) {  // rounded once for all products of this type
        const std::int64_t n = products.T * products.inputs;
        x = state.scratch(Scratch::operand, row_bytes(type, n));
        round_operand(state.stream(), x, type, products.x, n);
      }
      state.matmul().run({.product = products.list[i],
                          .x = x,
                          .T = products.T,
                          .inputs = products.inputs,
                          .any_neighbours = any_neighbours});
    }
  }
}

}  // namespace

void CudaBackend::linear(Queue& queue, ConstTensor x, std::span<const LinearOutput> outputs) const {
  static_assert(kMostProducts <= kMostLaunchedProducts);
  if (outputs.empty() || x.size(0) == 0) return;
  CudaQueueState& state = state_of(queue);
  Products all;
  all.x = floats(x);
  all.T = x.size(0);
  all.inputs = x.size(1);
  for (const LinearOutput& output : outputs)
    add(all, {.out = floats(output.out),
              .out_stride = output.out.stride(0),
              .w = output.w->data,
              .dtype = output.w->dtype,
              .outputs = output.w->rows,
              .scale = output.options.scale,
              .accumulate = output.options.accumulate});
  const bool few_rows = outputs.front().options.rows == Rows::few, few = few_rows && all.T <= kFewRows;
  if (queue.numerics() == Numerics::exact) {
    linear_plain(state.stream(), all, few);
    return check_launch("multiplying");
  }
  const Sorted sorted = sort(all, few);
  linear_plain(state.stream(), sorted.plain, few);
  if (sorted.tensor.count > 0) linear_tensor(state.stream(), sorted.tensor);
  check_launch("multiplying");
  multiply(state, sorted.library, few_rows);
}

}  // namespace mplus::kernels::cuda
