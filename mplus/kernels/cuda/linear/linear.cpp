// Which kernel makes a product. Exact numerics: f32. Fast: by the weights' type and shape, and, where bits
// must not depend on neighbours, by nothing else.
#include "mplus/kernels/linear/linear.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/kernels/cuda/backend.h"
#include "mplus/kernels/cuda/device/check.h"
#include "mplus/kernels/linear/adapter.h"

namespace mplus::kernels::cuda {
namespace {

constexpr std::int64_t kFewRows = 64;        // up to here weights are what has to be moved
constexpr std::int64_t kOperandInputs = 32;  // all products of so many, or twice as many, … read operands
constexpr std::int64_t kNarrowOutputs = 64;  // up to here a tile of the library's would leave the device idle

bool is_few(kernels::Rows rows, std::int64_t T) {
  return rows == kernels::Rows::some || (rows == kernels::Rows::few && T <= kFewRows);
}

void add(Products& products, const Product& product) { products.list[products.count++] = product; }

Product product_of(const Tensor& out, const Matrix& w, const LinearOptions& options) {
  return {.out = floats(out),
          .out_stride = out.stride(0),
          .w = w.data,
          .dtype = w.dtype,
          .row_scales = w.row_scales,
          .outputs = w.rows,
          .scale = options.scale,
          .accumulate = options.accumulate};
}

Products products_of(const ConstTensor& x) {
  Products products;
  products.x = floats(x);
  products.T = x.size(0);
  products.inputs = x.size(1);
  return products;
}

// The products of one x, by what makes them.
struct Sorted {
  Products plain, tensor, library;
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

// x in the weights' type: as the operation left it that made x, else rounded here.
const void* operand_of(CudaQueueState& state, const Products& products, DType type) {
  if (const void* known = state.rounded(products.x, products.T, products.inputs, type)) return known;
  const std::int64_t n = products.T * products.inputs;
  void* x = state.room_to_round(n, type);
  round_operand(state.stream(), x, type, products.x, n);
  return x;
}

// By the library, x rounded once for all products of a type.
void multiply(CudaQueueState& state, const Products& products, bool any_neighbours) {
  for (const DType type : {DType::bf16, DType::f16}) {
    Matmul::Job job;
    job.T = products.T;
    job.inputs = products.inputs;
    job.any_neighbours = any_neighbours;
    for (int i = 0; i < products.count; ++i) {
      if (products.list[i].dtype != type) continue;
      if (!job.x) job.x = operand_of(state, products, type);
      job.product = products.list[i];
      job.batch = {};
      if (i + 1 < products.count && Matmul::pair(products.list[i], products.list[i + 1])) {
        job.batch = Matmul::batch_of(products.list[i], products.list[i + 1]);
        ++i;
      }
      state.matmul().run(job);
    }
  }
}

bool is_packed(const Products& products) {
  return std::any_of(products.list, products.list + products.count,
                     [](const Product& product) { return is_byte(product.dtype); });
}

// The products with weights of one byte as values, which are there until the next call.
Products unpacked(CudaQueueState& state, const Products& all) {
  Products products = all;
  std::int64_t elements = 0;
  for (int i = 0; i < all.count; ++i)
    if (is_byte(all.list[i].dtype)) elements += all.list[i].outputs * all.inputs;
  auto* room = static_cast<std::uint16_t*>(state.scratch(Scratch::weights, row_bytes(DType::f16, elements)));
  for (int i = 0; i < all.count; ++i) {
    Product& product = products.list[i];
    if (!is_byte(product.dtype)) continue;
    unpack_weights(state.stream(),
                   {room, product.w, product.dtype, product.row_scales, product.outputs, all.inputs});
    product.w = std::exchange(room, room + product.outputs * all.inputs);
    product.dtype = DType::f16;
    product.row_scales = nullptr;
  }
  check_launch("unpacking weights");
  return products;
}

// Few rows of any products, or any rows of narrow ones.
void multiply_tensor(Stream stream, const Products& products, bool few) {
  if (!few && fits_linear_narrow(products)) linear_narrow(stream, products);
  else linear_tensor(stream, products);
}

void multiply_sorted(CudaQueueState& state, const Products& all, bool few, bool any_neighbours) {
  Sorted sorted = sort(all, few);
  linear_plain(state.stream(), sorted.plain, few);
  if (sorted.tensor.count > 0) {
    sorted.tensor.rounded = operand_of(state, sorted.tensor, sorted.tensor.list[0].dtype);
    multiply_tensor(state.stream(), sorted.tensor, few);
  }
  check_launch("multiplying");
  multiply(state, sorted.library, any_neighbours);
}

void run(Queue& queue, CudaQueueState& state, const Products& all, kernels::Rows rows) {
  const bool any_neighbours = rows == kernels::Rows::few, few = is_few(rows, all.T), packed = is_packed(all);
  if (queue.numerics() == Numerics::exact) {
    linear_plain(state.stream(), all, few);
    return check_launch("multiplying");
  }
  if (packed && few && fits_linear_packed(all)) {
    Products products = all;
    products.rounded = operand_of(state, all, DType::f16);
    linear_packed(state.stream(), products);
    check_launch("multiplying");
  } else {
    multiply_sorted(state, packed ? unpacked(state, all) : all, few, any_neighbours);
  }
  for (int i = 0; i < all.count; ++i) {
    const Product& product = all.list[i];
    state.forget_rounded(product.out, product.out + (all.T - 1) * product.out_stride + product.outputs);
  }
}

// The adapters among outputs, and whether they can be added in one go.
bool collect(Adapters& adapters, std::span<const AdaptedOutput> outputs, std::int64_t T, bool begin) {
  adapters.T = T;
  for (const AdaptedOutput& output : outputs) {
    const LowRank& low = output.adapter;
    if (low.a.empty()) continue;
    if (adapters.count > 0 && (adapters.rank != low.b.cols || adapters.dtype != low.b.dtype)) return false;
    adapters.rank = low.b.cols;
    adapters.dtype = low.b.dtype;
    adapters.list[adapters.count++] = {.out = floats(output.out),
                                       .T = output.out.size(0),
                                       .out_stride = output.out.stride(0),
                                       .low = floats(low.low),
                                       .b = low.b.data,
                                       .outputs = low.b.rows,
                                       .scale = low.scale,
                                       .begin = begin && !output.accumulate};
  }
  return adapters.count > 0 && fits_adapters(adapters);
}

// Where the outputs from `first` on with as many rows as it end.
std::size_t alike_from(std::span<const AdaptedOutput> outputs, std::size_t first) {
  std::size_t end = first;
  while (end < outputs.size() && outputs[end].out.size(0) == outputs[first].out.size(0)) ++end;
  return end;
}

}  // namespace

void CudaBackend::linear(Queue& queue, ConstTensor x, std::span<const LinearOutput> outputs) const {
  static_assert(kMostProducts <= kMostLaunchedProducts);
  if (outputs.empty() || x.size(0) == 0) return;
  Products all = products_of(x);
  for (const LinearOutput& output : outputs) add(all, product_of(output.out, *output.w, output.options));
  run(queue, state_for_products(queue), all, outputs.front().options.rows);
}

// With few rows inner halves go with the products, and outer halves are added behind them. With many, both
// come first: the library adds its product to what is there while it writes it.
void CudaBackend::linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs,
                                 kernels::Rows rows) const {
  if (outputs.empty() || x.size(0) == 0) return;
  const bool few = is_few(rows, x.size(0));
  const std::size_t alike = alike_from(outputs, 0);
  if (few && (alike < outputs.size() || outputs.front().out.size(0) < x.size(0))) {
    linear_adapted(queue, x.rows(0, outputs.front().out.size(0)), outputs.first(alike), rows);
    return linear_adapted(queue, x, outputs.subspan(alike), rows);
  }
  Adapters adapters;
  if (queue.numerics() == Numerics::exact || !collect(adapters, outputs, x.size(0), !few))
    return Backend::linear_adapted(queue, x, outputs, rows);
  CudaQueueState& state = state_for_products(queue);
  Products base = products_of(x), inner = base;
  for (const AdaptedOutput& output : outputs) {
    const bool adapted = !output.adapter.a.empty();
    add(base, product_of(output.out, *output.base, {.accumulate = output.accumulate || (adapted && !few)}));
    if (adapted) add(few ? base : inner, product_of(output.adapter.low, output.adapter.a, {}));
  }
  if (few) run(queue, state, base, rows);
  else run(queue, state, inner, rows);
  add_adapters(state.stream(), adapters);
  check_launch("adding adapters");
  if (few) return;
  for (std::size_t first = 0, next = 0; first < outputs.size(); first = next) {
    Products some = base;
    some.T = outputs[first].out.size(0);
    some.count = 0;
    for (next = alike_from(outputs, first); first < next; ++first) add(some, base.list[first]);
    run(queue, state, some, rows);
  }
}

namespace {

// Products of several x that are made together, each with the kernel it has alone.
class Stacked {
 public:
  Stacked(CudaQueueState& state, std::span<const AdaptedProducts> all)
      : state_(state), all_(all), x_(all.front().x), type_(all.front().outputs.front().base->dtype) {}

  // Whether everything lies alike, one behind the other, and its kernels take it.
  bool possible() const {
    if (all_.size() < 2 || x_.size(0) == 0) return false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto& [x, outputs] = all_[i];
      if (!x.contiguous() || floats(x) != floats(x_) + row_of(i) * x_.size(1) ||
          outputs.size() != all_.front().outputs.size())
        return false;
      for (std::size_t o = 0; o < outputs.size(); ++o)
        if (!fits(i, o)) return false;
    }
    return true;
  }
  void make() {
    Products whole = products_of(x_);
    whole.T *= std::ssize(all_);
    const void* operand = operand_of(state_, whole, type_);
    make_additions(operand);
    std::vector<Product> narrow;
    for (std::size_t o = 0; o < all_.front().outputs.size(); ++o) {
      const LinearOptions options{.accumulate = !output(0, o).adapter.a.empty()};
      if (!is_narrow(o)) {
        const Step step = step_to(1, o);
        state_.matmul().run({.product = product_of(output(0, o).out, *output(0, o).base, options),
                             .batch = {static_cast<int>(all_.size()), step.w, x_.elements(), step.out},
                             .x = operand,
                             .T = x_.size(0),
                             .inputs = x_.size(1)});
        continue;
      }
      for (std::size_t i = 0; i < all_.size(); ++i)
        narrow.push_back(product_at(i, output(i, o).out, *output(i, o).base, options));
    }
    multiply_narrow(narrow, operand);
    check_launch("multiplying");
    state_.forget_rounded();
  }

 private:
  struct Step {  // in elements
    std::int64_t w, out;
    friend bool operator==(const Step&, const Step&) = default;
  };
  std::int64_t row_of(std::size_t i) const { return static_cast<std::int64_t>(i) * x_.size(0); }
  const AdaptedOutput& output(std::size_t i, std::size_t o) const { return all_[i].outputs[o]; }
  bool is_narrow(std::size_t o) const { return output(0, o).base->rows <= kNarrowOutputs; }
  Product product_at(std::size_t i, const Tensor& out, const Matrix& w, const LinearOptions& options) const {
    Product product = product_of(out, w, options);
    product.x_row = row_of(i);
    return product;
  }
  Step step_to(std::size_t i, std::size_t o) const {
    const AdaptedOutput &first = output(0, o), &one = output(i, o);
    return {static_cast<const std::uint16_t*>(one.base->data) -
                static_cast<const std::uint16_t*>(first.base->data),
            floats(one.out) - floats(first.out)};
  }
  bool fits(std::size_t i, std::size_t o) const {
    const AdaptedOutput &first = output(0, o), &one = output(i, o);
    if (one.accumulate || !one.out.contiguous() || one.base->dtype != type_ ||
        one.base->rows != first.base->rows || one.adapter.a.empty() != first.adapter.a.empty())
      return false;
    const Product base = product_of(one.out, *one.base, {});
    if (is_narrow(o) ? !fits_narrow(base) : !Matmul::fits(base, x_.size(1))) return false;
    const Step step = step_to(1, o);
    const auto n = static_cast<std::int64_t>(i);
    if (!is_narrow(o) && (step.w <= 0 || step.out <= 0 || step_to(i, o) != Step{n * step.w, n * step.out}))
      return false;
    const LowRank& low = one.adapter;
    Adapters outer;
    return low.a.empty() ||
           (low.a.dtype == type_ && low.a.rows <= kNarrowOutputs &&
            low.b.cols == output(0, 0).adapter.b.cols && fits_narrow(product_of(low.low, low.a, {})) &&
            collect(outer, {&one, 1}, x_.size(0), true));
  }
  bool fits_narrow(const Product& product) const {
    Products alone = products_of(x_);
    add(alone, product);
    return fits_linear_tensor(alone);
  }
  // As many in a launch as it takes.
  void multiply_narrow(std::span<const Product> list, const void* operand) {
    for (; !list.empty(); list = list.subspan(std::min<std::size_t>(list.size(), kMostLaunchedProducts))) {
      Products products = products_of(x_);
      products.rounded = operand;
      for (const Product& product : list.first(std::min<std::size_t>(list.size(), kMostLaunchedProducts)))
        add(products, product);
      multiply_tensor(state_.stream(), products, false);
    }
  }
  void make_additions(const void* operand) {
    std::vector<Product> inner;
    std::vector<AdaptedOutput> outer;
    for (std::size_t i = 0; i < all_.size(); ++i)
      for (const AdaptedOutput& one : all_[i].outputs) {
        if (one.adapter.a.empty()) continue;
        inner.push_back(product_at(i, one.adapter.low, one.adapter.a, {}));
        outer.push_back(one);
      }
    multiply_narrow(inner, operand);
    for (std::span<const AdaptedOutput> left = outer; !left.empty();) {
      const std::size_t n = std::min<std::size_t>(left.size(), kMostLaunchedProducts);
      Adapters adapters;
      collect(adapters, left.first(n), x_.size(0), true);
      add_adapters(state_.stream(), adapters);
      left = left.subspan(n);
    }
    check_launch("adding adapters");
  }

  CudaQueueState& state_;
  std::span<const AdaptedProducts> all_;
  ConstTensor x_;  // the first
  DType type_;     // of all weights
};

}  // namespace

// Of a stack of layers: few launches, and enough work in each for the whole device.
void CudaBackend::linear_adapted_all(Queue& queue, std::span<const AdaptedProducts> all,
                                     kernels::Rows rows) const {
  if (all.empty() || all.front().outputs.empty()) return;
  Stacked stacked(state_for_products(queue), all);
  if (queue.numerics() == Numerics::exact || rows != kernels::Rows::batched || !stacked.possible())
    return Backend::linear_adapted_all(queue, all, rows);
  stacked.make();
}

// Additions with the activation, so that gate and up are written and read once. Few rows: behind all
// products. Many: in one kernel with the products where there is one.
void CudaBackend::swiglu_adapted(Queue& queue, ConstTensor x, const AdaptedOutput& gate,
                                 const AdaptedOutput& up, kernels::Rows rows, ResultUse use) const {
  const AdaptedOutput both[] = {gate, up};
  GatedProduct whole;
  if (queue.numerics() == Numerics::exact || x.size(0) == 0 ||
      !collect(whole.adapters, both, x.size(0), false) || !fits_gated(whole.adapters))
    return Backend::swiglu_adapted(queue, x, gate, up, rows, use);
  CudaQueueState& state = state_for_products(queue);
  Products base = products_of(x), inner = base;
  for (const AdaptedOutput& output : both) {
    add(base, product_of(output.out, *output.base, {}));
    add(inner, product_of(output.adapter.low, output.adapter.a, {}));
  }
  whole.gate = base.list[0];
  whole.up = base.list[1];
  whole.inputs = base.inputs;
  const bool few = is_few(rows, x.size(0));
  if (few)
    for (int i = 0; i < inner.count; ++i) add(base, inner.list[i]);
  else run(queue, state, inner, rows);
  if (!few && fits_gated_product(whole)) {
    whole.x = operand_of(state, base, whole.gate.dtype);
    whole.rounded = state.round_along(gate.out);
    whole.only_rounded =
        use == ResultUse::products && whole.rounded.to != nullptr && gate.out.size(1) % kOperandInputs == 0;
    if (swiglu_product(state.stream(), whole)) {
      if (whole.only_rounded) state.note_only_rounded();
      return check_launch("swiglu");
    }
  }
  run(queue, state, base, rows);
  swiglu_gated(state.stream(), whole.adapters, state.round_along(gate.out));
  check_launch("swiglu");
}

}  // namespace mplus::kernels::cuda
